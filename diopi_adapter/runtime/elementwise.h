// SPDX-License-Identifier: Apache-2.0
//
// Operands of elementwise operators.
//
// Note [Fast path]
// Most calls of a training step have contiguous operands of one floating type
// and device, and the others have the shape of the first or broadcast to it.
// Nothing needs to be inferred then: the output is like the first operand, so
// the wrapper skips torch's meta function, which costs more than the call
// itself. Everything else (promotion, broadcasting, strides, numbers in place
// of tensors, out arguments that are resized) goes through the meta function,
// and operands are then brought to the common type and shape here: on this
// device TensorIterator does not convert them.
#pragma once

#include <ATen/core/IListRef.h>
#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>

#include <initializer_list>
#include <optional>
#include <vector>

#include "diopi_adapter/runtime/output.h"

namespace dipu::adapter {

// The type of an elementwise result: that of the operands, bool, or a floating
// one (that of the operands, the default type for integers).
enum class ResultType { kCommon, kBool, kFloat };

namespace detail {
// `tensor` if it is on the device, else null.
inline const at::Tensor* ifOnDevice(const at::Tensor& tensor) {
  return tensor.defined() && tensor.is_privateuseone() ? &tensor : nullptr;
}
inline const at::Tensor* ifOnDevice(const std::optional<at::Tensor>& tensor) {
  return tensor.has_value() ? ifOnDevice(*tensor) : nullptr;
}
}  // namespace detail

// Throws: only an argument that is no operand, such as an index, is on the
// device.
[[noreturn]] void throwNoOperandOnDevice();

// Index of the first device tensor's device. Throws when there is none.
template <typename... Tensors>
c10::DeviceIndex deviceOf(const Tensors&... tensors) {
  const at::Tensor* found = nullptr;
  ((found = found != nullptr ? found : detail::ifOnDevice(tensors)), ...);
  if (__builtin_expect(found == nullptr, 0)) throwNoOperandOnDevice();
  return found->get_device();
}
inline c10::DeviceIndex deviceOf(at::TensorList tensors) {
  for (const at::Tensor& tensor : tensors) {
    if (tensor.is_privateuseone()) return tensor.get_device();
  }
  throwNoOperandOnDevice();
}
inline c10::DeviceIndex deviceOf(const at::ITensorListRef& tensors) {
  for (const at::Tensor& tensor : tensors) {
    if (tensor.is_privateuseone()) return tensor.get_device();
  }
  throwNoOperandOnDevice();
}

// `tensor` broadcast to `sizes`, which it must allow. What expand() does,
// without the dispatcher.
at::Tensor expandedView(const at::Tensor& tensor, c10::IntArrayRef sizes);

namespace fast {

// Whether `tensor` is a contiguous, non-empty device tensor of a type that
// needs no promotion: a floating one, or any real one where the result is bool.
inline bool isPlain(const at::Tensor& tensor, ResultType result) {
  const c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
  const at::ScalarType type = impl->dtype().toScalarType();
  return (at::isFloatingType(type) ||
          (result == ResultType::kBool && !at::isComplexType(type))) &&
         impl->is_contiguous() && impl->numel() > 0 &&
         tensor.is_privateuseone();
}

// Whether a tensor of `sizes` broadcasts to `target` without changing it.
bool broadcastsTo(c10::IntArrayRef sizes, c10::IntArrayRef target);

// Whether `other` has the type and device of `first`, is contiguous, and has
// the shape of `first` or broadcasts to it.
inline bool isAlike(const at::Tensor& first, const at::Tensor& other) {
  const c10::TensorImpl* a = first.unsafeGetTensorImpl();
  const c10::TensorImpl* b = other.unsafeGetTensorImpl();
  return a == b ||
         (a->dtype() == b->dtype() && a->device() == b->device() &&
          b->is_contiguous() &&
          (a->sizes() == b->sizes() || broadcastsTo(b->sizes(), a->sizes())));
}

// Whether `mask` is a contiguous bool tensor of the device and shape of
// `first`.
inline bool isMask(const at::Tensor& first, const at::Tensor& mask) {
  return mask.scalar_type() == at::kBool && mask.device() == first.device() &&
         mask.sizes() == first.sizes() && mask.is_contiguous();
}

// Whether writing `first` leaves `other` alone, or they are the same tensor.
inline bool isDistinct(const at::Tensor& first, const at::Tensor& other) {
  return first.is_same(other) || !first.is_alias_of(other);
}

// Whether an operator can write its result straight into `out`.
bool fitsOutput(const at::Tensor& out, const at::Tensor& first,
                ResultType result);

// Note [Fast path]; the operands follow the form and the output.
template <typename... Rest>
bool applies(Form form, const at::Tensor& out, ResultType result,
             const at::Tensor& first, const Rest&... rest) {
  if (!isPlain(first, result) || !(isAlike(first, rest) && ...)) return false;
  if (form == Form::kFunctional) return true;
  if (form == Form::kInplace) {
    return result != ResultType::kBool && (isDistinct(first, rest) && ...);
  }
  return fitsOutput(out, first, result) &&
         (fitsOutput(out, rest, result) && ...);
}

// An operand of such a call: itself, or a view with the shape of `first`. Lives
// as a temporary until the end of the call.
class Operand {
 public:
  Operand(const at::Tensor& first, const at::Tensor& tensor) : tensor_(tensor) {
    if (__builtin_expect(first.sizes() != tensor.sizes(), 0)) {
      view_ = expandedView(tensor, first.sizes());
    }
  }

  operator const at::Tensor&() const {
    return view_.defined() ? view_ : tensor_;
  }

 private:
  const at::Tensor& tensor_;
  at::Tensor view_;
};

// Makes the output of a call for which the fast path applies.
inline void makeOutput(Form form, at::Tensor& out, ResultType result,
                       const at::Tensor& first) {
  if (form != Form::kFunctional) return;
  out = aten::emptyShaped(
      first, result == ResultType::kBool ? at::kBool : first.scalar_type(),
      first.get_device());
}

// Whether `number`, combined with a tensor of type `type`, leaves that type as
// it is.
bool keepsType(at::ScalarType type, const c10::Scalar& number);
inline bool keepsType(at::ScalarType type,
                      const std::optional<c10::Scalar>& number) {
  return !number.has_value() || keepsType(type, *number);
}

// The same for every tensor of a list.
bool keepsTypes(at::TensorList tensors, const c10::Scalar& number);

}  // namespace fast

// Whether `tensor` stands for a number: a real CPU tensor without dimensions,
// which is what torch makes of a Python number.
inline bool isNumber(const at::Tensor& tensor) {
  return tensor.is_cpu() && tensor.dim() == 0 && !tensor.is_complex();
}

// The number that such a tensor holds.
c10::Scalar numberOf(const at::Tensor& tensor);

// Whether `number`, a tensor as isNumber tells, leaves the type of `tensor`
// as it is.
bool numberKeepsType(const at::Tensor& tensor, const at::Tensor& number);

// Brings operands to one type, shape and device. Conversions are enqueued.
class Operands {
 public:
  // `sizes` is borrowed.
  Operands(at::ScalarType dtype, c10::IntArrayRef sizes,
           c10::DeviceIndex device)
      : dtype_(dtype), sizes_(sizes), device_(device) {}

  // `tensor` converted, expanded, and moved if it is a number. Undefined
  // tensors stay so.
  at::Tensor operator()(const at::Tensor& tensor) const;
  at::Tensor operator()(const std::optional<at::Tensor>& tensor) const {
    return tensor.has_value() ? (*this)(*tensor) : at::Tensor();
  }

  // As above, but the type stays.
  at::Tensor shaped(const at::Tensor& tensor) const;

 private:
  const at::ScalarType dtype_;
  const c10::IntArrayRef sizes_;
  const c10::DeviceIndex device_;
};

// Shape and type of an elementwise operator that torch has no meta function
// for. Throws when the operands do not broadcast.
class Elementwise {
 public:
  // `promoted`: operands that agree on a type. `shaped`: operands that only
  // take part in the shape.
  Elementwise(std::initializer_list<const at::Tensor*> promoted,
              std::initializer_list<const at::Tensor*> shaped,
              ResultType result);

  // The output: as Structured does, of dtype() or bool.
  void prepare(Form form, at::Tensor& out, ResultType result,
               c10::DeviceIndex device) const;

  // The type of the operands; floating if the result is to be.
  at::ScalarType dtype() const { return dtype_; }
  c10::IntArrayRef sizes() const { return sizes_; }

 private:
  at::DimVector sizes_;
  at::ScalarType dtype_;
};

// Sums, products and the like of integers are int64 unless told otherwise.
at::ScalarType sumType(at::ScalarType input,
                       std::optional<at::ScalarType> dtype);

// `tensor` as type `dtype`, which is itself when it has that type.
at::Tensor castTo(const at::Tensor& tensor, at::ScalarType dtype);

// Index tensors on the device; torch accepts them on the CPU too.
c10::List<std::optional<at::Tensor>> indicesOn(
    const c10::List<std::optional<at::Tensor>>& indices,
    c10::DeviceIndex device);

// What torch.cat joins: `tensors` without its legacy empty ones, as `dtype`.
std::vector<at::Tensor> catOperands(const at::ITensorListRef& tensors,
                                    at::ScalarType dtype);

}  // namespace dipu::adapter
