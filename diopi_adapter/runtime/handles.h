// SPDX-License-Identifier: Apache-2.0
//
// Torch values as DIOPI arguments.
//
// Each class below holds the C form of one argument and converts to the type
// that the DIOPI function declares, so that a call reads like the function:
//
//   symbols().diopiAdd(context, Out(out), In(self), In(other), Value(alpha))
//
// The objects are temporaries: they borrow from the torch values and live until
// the end of the call expression, which is as long as DIOPI may look at them.
// Filling one takes a few nanoseconds and, lists apart, no allocation. Nothing
// here blocks or enqueues.
#pragma once

#include <ATen/core/IListRef.h>
#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>
#include <c10/util/OptionalArrayRef.h>
#include <c10/util/SmallVector.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/runtime/device.h"
#include "diopi_adapter/abi/diopi_host.h"
#include "diopi_adapter/runtime/dtype.h"

namespace dipu::adapter {

// Throws "Expected all tensors to be on the same device ...".
[[noreturn]] void throwNotOnDevice(const at::Tensor& tensor);

// Describes `tensor`, which must be defined and on `device`, -1 being the host.
// `data` becomes the address of its first element; `owner` the borrowed
// TensorImpl.
inline void describe(const at::TensorBase& tensor, c10::DeviceIndex device,
                     void* storage_data, diopiTensor& handle) {
  const c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
  const auto sizes = impl->sizes();
  const auto type = impl->dtype();
  handle.sizes = sizes.data();
  handle.strides = impl->strides().data();
  handle.numel = impl->numel();
  handle.ndim = static_cast<int32_t>(sizes.size());
  handle.dtype = diopiDtype(type.toScalarType());
  handle.device_index = device;
  handle.item_size = static_cast<uint16_t>(type.itemsize());
  handle.flags = 0;
  handle.storage_data = storage_data;
  handle.storage_offset = impl->storage_offset();
  handle.storage_bytes = tensor.storage().nbytes();
  handle.data = storage_data == nullptr
                    ? nullptr
                    : static_cast<char*>(storage_data) +
                          handle.storage_offset * handle.item_size;
  handle.owner = const_cast<c10::TensorImpl*>(impl);
}

// The device of `tensor`; throws unless it is the current one, which is that of
// the call's context. Not every meta function compares the devices of its
// tensors.
inline c10::DeviceIndex checkedDevice(const at::Tensor& tensor) {
  const c10::Device device = tensor.device();
  if (__builtin_expect(device.type() != runtime::kDeviceType ||
                           device.index() != runtime::currentDevice(),
                       0)) {
    throwNotOnDevice(tensor);
  }
  return device.index();
}

// A tensor that the operator reads. An undefined tensor or nullopt is NULL.
// Throws when the tensor is not on the device of the call.
class In {
 public:
  explicit In(const at::Tensor& tensor) {
    if (!tensor.defined()) return;
    // Reading does not materialise a copy-on-write storage.
    describe(tensor, checkedDevice(tensor),
             const_cast<void*>(tensor.storage().data()), handle_);
    pointer_ = &handle_;
  }
  explicit In(const std::optional<at::Tensor>& tensor)
      : In(tensor.has_value() ? *tensor : at::Tensor()) {}
  In(const In&) = delete;
  In& operator=(const In&) = delete;

  operator diopiConstTensorHandle_t() const { return pointer_; }

 private:
  diopiTensor handle_;
  diopiTensor* pointer_ = nullptr;
};

// A tensor that the operator writes; otherwise as In.
class Out {
 public:
  explicit Out(const at::Tensor& tensor) {
    if (!tensor.defined()) return;
    describe(tensor, checkedDevice(tensor), tensor.storage().mutable_data(),
             handle_);
    pointer_ = &handle_;
  }
  explicit Out(const std::optional<at::Tensor>& tensor)
      : Out(tensor.has_value() ? *tensor : at::Tensor()) {}
  Out(const Out&) = delete;
  Out& operator=(const Out&) = delete;

  operator diopiTensorHandle_t() { return pointer_; }

 private:
  diopiTensor handle_;
  diopiTensor* pointer_ = nullptr;
};

// Arrays of handles. Undefined elements are NULL.
class TensorArray {
 public:
  TensorArray(at::ArrayRef<at::Tensor> tensors, bool written);
  explicit TensorArray(const c10::List<std::optional<at::Tensor>>& tensors);
  TensorArray(const TensorArray&) = delete;
  TensorArray& operator=(const TensorArray&) = delete;

  operator diopiTensorHandle_t*() { return pointers_.data(); }
  operator diopiConstTensorHandle_t*() {
    return const_cast<diopiConstTensorHandle_t*>(pointers_.data());
  }

 private:
  void add(const at::Tensor& tensor, bool written);

  c10::SmallVector<diopiTensor, 8> handles_;
  c10::SmallVector<diopiTensor*, 8> pointers_;
};

// Whether DIOPI can carry `value`: it has no complex scalars.
inline bool isReal(const c10::Scalar& value) { return !value.isComplex(); }
inline bool isReal(const std::optional<c10::Scalar>& value) {
  return !value.has_value() || !value->isComplex();
}

// A number. Sent as int64 (bool too) or float64, the two forms that every
// operator library reads. nullopt is NULL. The value must be real.
class Value {
 public:
  explicit Value(const c10::Scalar& value) { set(value); }
  explicit Value(const std::optional<c10::Scalar>& value) {
    if (value.has_value()) {
      set(*value);
    } else {
      pointer_ = nullptr;
    }
  }
  explicit Value(double value) { set(c10::Scalar(value)); }
  Value(const Value&) = delete;
  Value& operator=(const Value&) = delete;

  operator const diopiScalar_t*() const { return pointer_; }
  operator diopiScalar_t*() { return pointer_; }

 private:
  void set(const c10::Scalar& value) {
    if (value.isFloatingPoint()) {
      scalar_.stype = diopi_dtype_float64;
      scalar_.fval = value.toDouble();
    } else {
      scalar_.stype = diopi_dtype_int64;
      scalar_.ival = value.toLong();
    }
  }

  diopiScalar_t scalar_;
  diopiScalar_t* pointer_ = &scalar_;
};

// Integers by value. nullopt is the empty list.
inline diopiSize_t sizeArray(c10::IntArrayRef values) {
  return {values.data(), static_cast<int64_t>(values.size())};
}
inline diopiSize_t sizeArray(const c10::OptionalIntArrayRef& values) {
  return values.has_value() ? sizeArray(*values) : diopiSize_t{nullptr, 0};
}

// `values`, or `otherwise` when `values` is empty: the default of arguments
// such as a pooling stride.
inline c10::IntArrayRef orElse(c10::IntArrayRef values,
                               c10::IntArrayRef otherwise) {
  return values.empty() ? otherwise : values;
}

// A pointer to a value that may be missing.
template <typename T>
class Pointer {
 public:
  explicit Pointer(T value) : value_(value) {}
  explicit Pointer(const std::optional<T>& value) : value_(value) {}
  Pointer(const Pointer&) = delete;
  Pointer& operator=(const Pointer&) = delete;

  operator const T*() const { return value_.has_value() ? &*value_ : nullptr; }

 private:
  std::optional<T> value_;
};

// A string with its terminating zero.
class CString {
 public:
  explicit CString(std::string_view text) : text_(text) {}
  operator const char*() const { return text_.c_str(); }

 private:
  std::string text_;
};

// "trunc", "floor" or none. Throws for other text.
diopiRoundMode_t roundMode(std::optional<std::string_view> mode);

// at::Reduction as DIOPI numbers it, which is the same. Throws for others.
diopiReduction_t reductionMode(int64_t reduction);

}  // namespace dipu::adapter
