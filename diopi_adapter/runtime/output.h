// SPDX-License-Identifier: Apache-2.0
//
// Outputs of operators: made, checked or resized, depending on the form in
// which the operator was called.
#pragma once

#include <ATen/TensorIterator.h>
#include <ATen/TensorMeta.h>
#include <ATen/core/Tensor.h>

#include <array>
#include <cstddef>
#include <optional>
#include <type_traits>

#include "diopi_adapter/aten/empty.h"

namespace dipu::adapter {

// How an operator was called: y = f(x), x.f_(), or f(x, out=y).
enum class Form { kFunctional, kInplace, kOut };

// Size, strides and type of an output.
struct OutputSpec {
  at::DimVector sizes;
  at::DimVector strides;  // empty: contiguous
  at::ScalarType dtype = at::kFloat;
};

// Brings `out` into shape: makes it (kFunctional), checks that it has the size
// (kInplace), or resizes it as torch does for out arguments (kOut). Throws when
// an existing tensor has another type or, in place, another size, and when
// elements of an out argument share memory.
void prepareOutput(Form form, at::Tensor& out, const OutputSpec& spec,
                   c10::DeviceIndex device);

// Stores a result that the operator library allocated in an out argument, which
// is resized as torch does. Throws when that has another type.
void storeResult(const at::Tensor& out, const at::Tensor& result);

// What follows is for the classes below.
namespace detail {
at::Tensor makeOutput(c10::IntArrayRef sizes, c10::IntArrayRef strides,
                      const at::TensorOptions& options);
void resizeOutput(const at::Tensor& out, c10::IntArrayRef sizes,
                  c10::IntArrayRef strides, const at::TensorOptions& options);
void checkInplace(const at::Tensor& self, c10::IntArrayRef sizes,
                  const at::TensorOptions& options);
// A stand-in for `out` when the operator insists on other strides; otherwise
// an undefined tensor.
at::Tensor makeProxy(const at::Tensor& out, c10::IntArrayRef sizes,
                     c10::IntArrayRef strides,
                     const at::TensorOptions& options);
}  // namespace detail

// Optional arguments as meta functions take them. An undefined tensor is none.
inline at::OptionalTensorRef toMeta(const std::optional<at::Tensor>& tensor) {
  return tensor.has_value() && tensor->defined()
             ? at::OptionalTensorRef(*tensor)
             : at::OptionalTensorRef();
}
inline at::OptionalScalarRef toMeta(const std::optional<at::Scalar>& scalar) {
  return scalar.has_value() ? at::OptionalScalarRef(&*scalar)
                            : at::OptionalScalarRef();
}

// Runs torch's own meta function of a structured operator: it checks the
// arguments, infers type and shape, and asks this class for the outputs.
//
//   at::Tensor out;
//   Structured<at::meta::structured_mm, 1> op(Form::kFunctional, {&out});
//   op.meta(self, mat2);          // `out` now exists
//   ... write op.output(0) ...
//   op.store();
template <typename Meta, size_t kOutputs>
class Structured final : public Meta {
 public:
  // `outputs` are borrowed; those of kFunctional are undefined and get set.
  Structured(Form form, std::array<at::Tensor*, kOutputs> outputs)
      : form_(form), outputs_(outputs) {}

  // Where to write the i-th output.
  const at::Tensor& output(size_t i) const {
    return proxies_[i].defined() ? proxies_[i] : *outputs_[i];
  }

  // Copies stand-ins to the tensors they stand for. Returns true, to end a
  // wrapper with `return call(...) && op.store()`.
  bool store() {
    for (size_t i = 0; i < kOutputs; ++i) {
      if (proxies_[i].defined()) outputs_[i]->copy_(proxies_[i]);
    }
    return true;
  }

  void set_output_strided(int64_t i, c10::IntArrayRef sizes,
                          c10::IntArrayRef strides,
                          at::TensorOptions options) override {
    provide(i, sizes, strides, options);
    if (form_ != Form::kFunctional) {
      proxies_[i] = detail::makeProxy(*outputs_[i], sizes, strides, options);
    }
    announce(i, sizes, strides, options);
  }

  void set_output_raw_strided(int64_t i, c10::IntArrayRef sizes,
                              c10::IntArrayRef strides,
                              at::TensorOptions options) override {
    provide(i, sizes, strides, options);
    announce(i, sizes, strides, options);
  }

  const at::Tensor& maybe_get_output(int64_t i) override { return output(i); }

 private:
  void provide(int64_t i, c10::IntArrayRef sizes, c10::IntArrayRef strides,
               const at::TensorOptions& options) {
    switch (form_) {
      case Form::kFunctional:
        *outputs_[i] = detail::makeOutput(sizes, strides, options);
        break;
      case Form::kInplace:
        detail::checkInplace(*outputs_[i], sizes, options);
        break;
      case Form::kOut:
        detail::resizeOutput(*outputs_[i], sizes, strides, options);
        break;
    }
  }

  // TensorIterator keeps its own record of the outputs.
  void announce(int64_t i, c10::IntArrayRef sizes, c10::IntArrayRef strides,
                at::TensorOptions options) {
    if constexpr (std::is_base_of_v<at::TensorIteratorBase, Meta>) {
      Meta::set_output_raw_strided(i, sizes, strides, options);
    }
  }

  const Form form_;
  const std::array<at::Tensor*, kOutputs> outputs_;
  std::array<at::Tensor, kOutputs> proxies_;
};

// An operator result of type `computed` that ends up in `target`: a tensor of
// that type in between when the types differ.
class Result {
 public:
  Result(const at::Tensor& target, at::ScalarType computed)
      : target_(target),
        computed_(
            target.scalar_type() == computed
                ? target
                : aten::emptyShaped(target, computed, target.get_device())) {}

  const at::Tensor& tensor() const { return computed_; }

  // Converts into the target; returns true, see Structured::store.
  bool store() {
    if (!computed_.is_same(target_)) target_.copy_(computed_);
    return true;
  }

 private:
  const at::Tensor& target_;
  const at::Tensor computed_;
};

}  // namespace dipu::adapter
