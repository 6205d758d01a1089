// SPDX-License-Identifier: Apache-2.0
#include "diopi_adapter/runtime/elementwise.h"

#include <ATen/ExpandUtils.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/native/Resize.h>
#include <ATen/native/TypeProperties.h>
#include <ATen/ops/_local_scalar_dense.h>
#include <ATen/ops/fill.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/runtime/device.h"

namespace dipu::adapter {

void throwNoOperandOnDevice() {
  TORCH_CHECK(
      false,
      "Expected all tensors to be on the same device, but only an index "
      "or a list element is on the device. Move the tensors with .to().");
}

namespace {

// Order in which torch promotes: bool, integers, floating, complex.
int category(at::ScalarType type) {
  if (at::isComplexType(type)) return 3;
  if (at::isFloatingType(type)) return 2;
  return type == at::kBool ? 0 : 1;
}

// A number as an element of `dtype`. Out of range it wraps, rounds or becomes
// infinite like on the CPU, whereas fill_ refuses it.
at::Scalar asElement(const at::Tensor& number, at::ScalarType dtype) {
  const at::Scalar value = at::_local_scalar_dense(number);
  if (number.scalar_type() == dtype || dtype == at::kDouble) return value;
  constexpr double kMost = std::numeric_limits<float>::max();
  if (dtype == at::kFloat && std::abs(value.toDouble()) <= kMost) return value;
  return at::_local_scalar_dense(number.to(dtype));
}

at::Tensor numberOnDevice(const at::Tensor& number, at::ScalarType dtype,
                          c10::DeviceIndex device) {
  at::Tensor moved = aten::emptyContiguous({}, dtype, device);
  return moved.fill_(asElement(number, dtype));
}

}  // namespace

at::Tensor expandedView(const at::Tensor& tensor, c10::IntArrayRef sizes) {
  const auto added = sizes.size() - static_cast<size_t>(tensor.dim());
  at::DimVector strides(sizes.size(), 0);
  for (size_t i = added; i < sizes.size(); ++i) {
    const auto from = static_cast<int64_t>(i - added);
    const bool repeats = tensor.size(from) == 1 && sizes[i] != 1;
    if (!repeats) strides[i] = tensor.stride(from);
  }
  at::Tensor view = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(tensor.storage()), tensor.key_set(), tensor.dtype());
  view.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides,
                                                    tensor.storage_offset());
  return view;
}

namespace fast {

bool broadcastsTo(c10::IntArrayRef sizes, c10::IntArrayRef target) {
  if (sizes.size() > target.size()) return false;
  const auto tail = target.slice(target.size() - sizes.size());
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] != tail[i] && sizes[i] != 1) return false;
  }
  return true;
}

bool fitsOutput(const at::Tensor& out, const at::Tensor& first,
                ResultType result) {
  const at::ScalarType wanted =
      result == ResultType::kBool ? at::kBool : first.scalar_type();
  if (out.scalar_type() != wanted || out.device() != first.device() ||
      out.sizes() != first.sizes() || !out.is_contiguous()) {
    return false;
  }
  // An output that shares memory with an operand is right when it is the very
  // same tensor; torch's meta function tells the other cases apart.
  return isDistinct(out, first);
}

bool keepsType(at::ScalarType type, const c10::Scalar& number) {
  // Some operators refuse a bool; their meta functions know.
  if (number.isBoolean()) return type == at::kBool;
  return category(number.type()) <= category(type);
}

bool keepsTypes(at::TensorList tensors, const c10::Scalar& number) {
  if (number.isBoolean()) return true;  // the least of all types
  return std::all_of(tensors.begin(), tensors.end(),
                     [&](const at::Tensor& tensor) {
                       return keepsType(tensor.scalar_type(), number);
                     });
}

}  // namespace fast

c10::Scalar numberOf(const at::Tensor& tensor) {
  const void* data = tensor.storage().data();
  if (tensor.storage_offset() == 0 && data != nullptr) {
    switch (tensor.scalar_type()) {
      case at::kDouble:
        return *static_cast<const double*>(data);
      case at::kLong:
        return *static_cast<const int64_t*>(data);
      case at::kFloat:
        return *static_cast<const float*>(data);
      case at::kBool:
        return *static_cast<const bool*>(data);
      default:
        break;
    }
  }
  return at::_local_scalar_dense(tensor);
}

bool numberKeepsType(const at::Tensor& tensor, const at::Tensor& number) {
  const bool ranks_lower =
      tensor.dim() > 0 || number.unsafeGetTensorImpl()->is_wrapped_number();
  return ranks_lower &&
         category(number.scalar_type()) <= category(tensor.scalar_type());
}

at::Tensor Operands::operator()(const at::Tensor& tensor) const {
  if (!tensor.defined()) return tensor;
  if (tensor.is_cpu() && tensor.dim() == 0) {
    return expandedView(numberOnDevice(tensor, dtype_, device_), sizes_);
  }
  return shaped(castTo(tensor, dtype_));
}

at::Tensor Operands::shaped(const at::Tensor& tensor) const {
  if (tensor.is_cpu() && tensor.dim() == 0) {
    return numberOnDevice(tensor, tensor.scalar_type(), device_).expand(sizes_);
  }
  return tensor.sizes() == sizes_ ? tensor : expandedView(tensor, sizes_);
}

Elementwise::Elementwise(std::initializer_list<const at::Tensor*> promoted,
                         std::initializer_list<const at::Tensor*> shaped,
                         ResultType result) {
  at::native::ResultTypeState state;
  for (const at::Tensor* tensor : promoted) {
    if (!tensor->defined()) continue;
    state = at::native::update_result_type_state(*tensor, state);
    sizes_ = at::infer_size_dimvector(sizes_, tensor->sizes());
  }
  for (const at::Tensor* tensor : shaped) {
    sizes_ = at::infer_size_dimvector(sizes_, tensor->sizes());
  }
  dtype_ = at::native::result_type(state);
  if (result == ResultType::kFloat &&
      at::isIntegralType(dtype_, /*includeBool=*/true)) {
    dtype_ = at::get_default_dtype_as_scalartype();
  }
}

void Elementwise::prepare(Form form, at::Tensor& out, ResultType result,
                          c10::DeviceIndex device) const {
  if (form == Form::kFunctional) {
    const at::ScalarType dtype =
        result == ResultType::kBool ? at::kBool : dtype_;
    out = aten::emptyContiguous(sizes_, dtype, device);
    return;
  }
  if (result != ResultType::kBool) {
    TORCH_CHECK(at::canCast(dtype_, out.scalar_type()), "result type ", dtype_,
                " can't be cast to the desired output type ",
                out.scalar_type());
  }
  if (form == Form::kOut) {
    at::native::resize_output(out, sizes_);
    at::assert_no_internal_overlap(out);
    return;
  }
  TORCH_CHECK(out.sizes() == c10::IntArrayRef(sizes_), "output with shape ",
              out.sizes(), " doesn't match the broadcast shape ",
              c10::IntArrayRef(sizes_));
}

at::ScalarType sumType(at::ScalarType input,
                       std::optional<at::ScalarType> dtype) {
  if (dtype.has_value()) return *dtype;
  return at::isIntegralType(input, /*includeBool=*/true) ? at::kLong : input;
}

at::Tensor castTo(const at::Tensor& tensor, at::ScalarType dtype) {
  return tensor.scalar_type() == dtype ? tensor : tensor.to(dtype);
}

c10::List<std::optional<at::Tensor>> indicesOn(
    const c10::List<std::optional<at::Tensor>>& indices,
    c10::DeviceIndex device) {
  const c10::Device target(runtime::kDeviceType, device);
  c10::List<std::optional<at::Tensor>> moved;
  moved.reserve(indices.size());
  for (const std::optional<at::Tensor>& index : indices) {
    const bool given = index.has_value() && index->defined();
    moved.push_back(given ? std::optional(index->to(target)) : std::nullopt);
  }
  return moved;
}

std::vector<at::Tensor> catOperands(const at::ITensorListRef& tensors,
                                    at::ScalarType dtype) {
  std::vector<at::Tensor> joined;
  joined.reserve(tensors.size());
  for (const at::Tensor& tensor : tensors) {
    const bool legacy_empty = tensor.dim() == 1 && tensor.numel() == 0;
    if (!legacy_empty) joined.push_back(castTo(tensor, dtype));
  }
  return joined;
}

}  // namespace dipu::adapter
