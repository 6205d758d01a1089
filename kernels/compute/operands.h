// SPDX-License-Identifier: Apache-2.0
//
// What a compute function does with its tensors before it enqueues: addresses
// for the worker, dense copies of awkward views, and the choice of a type.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "kernels/compute/dispatch.h"
#include "kernels/compute/elementwise.h"
#include "kernels/compute/queue.h"
#include "kernels/compute/status.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

// The worker's address of a tensor; nullptr after an illegal address. An
// undefined view gives nullptr, which is no failure: test it first.
template <typename T = void>
T* translateView(const Queue& queue, const TensorView& view) {
  return view.defined() ? queue.translate<T>(view.data, spanBytes(view))
                        : nullptr;
}

// Same dtype and sizes.
bool sameShape(const TensorView& a, const TensorView& b);

// Enqueues body(TypeTag<T>()) for the floating type `dtype`; `body` captures
// plain values. kUnsupported for other types, in the name of `operation`.
template <typename Body>
Status launchFloating(const Queue& queue, const char* operation, DType dtype,
                      const Body& body) {
  bool sent = false;
  const bool known = dispatchFloating(dtype, [&](auto tag) {
    sent = queue.launch([body] { body(decltype(tag)()); });
  });
  if (!known) return unsupportedDType(operation, dtype);
  return sent ? Status::kOk : Status::kFailed;
}

// The order in which a tensor's elements lie in memory.
enum class Order {
  kRowMajor,
  kChannelsLast,  // [N, C, ...] stored as [N, ..., C]
};

// Whether elements lie in `order` without gaps.
bool isDense(const TensorView& view, Order order);

// kChannelsLast for a 4-D view (3-D to 5-D) that is dense in that order and
// not in row-major order.
Order orderOf(const TensorView& view);

// A view of the same sizes that is dense in `order` and of a given dtype: the
// tensor itself, or scratch memory. Not copyable: the view points into it.
//
//   DenseTensor x(queue, input, Order::kRowMajor);
//   DenseTensor y(queue, out, Order::kRowMajor);
//   if (!x.load() || !y.open()) return Status::kFailed;
//   ... enqueue work on x.view() and y.view() ...
//   return y.store();
//
// load() enqueues the conversion of an input, store() that of an output. All
// three do nothing, and succeed, for an undefined view.
class DenseTensor {
 public:
  DenseTensor(const Queue& queue, const TensorView& tensor, Order order)
      : DenseTensor(queue, tensor, order, tensor.dtype) {}
  DenseTensor(const Queue& queue, const TensorView& tensor, Order order,
              DType dtype);
  DenseTensor(const DenseTensor&) = delete;
  DenseTensor& operator=(const DenseTensor&) = delete;

  bool load();
  bool open();
  Status store();

  const TensorView& view() const { return view_; }
  // The worker's address, nullptr for an undefined view; valid after load or
  // open.
  template <typename T = void>
  T* address() const {
    return static_cast<T*>(address_);
  }

 private:
  const Queue& queue_;
  const TensorView tensor_;
  TensorView view_;
  bool copied_ = false;
  void* address_ = nullptr;
  int64_t strides_[kMaxDims] = {};
};

// Scratch memory for a row-major tensor with the sizes of another. Not
// copyable: the view points into it and borrows the other's sizes.
class ScratchTensor {
 public:
  ScratchTensor(const Queue& queue, const TensorView& shape, DType dtype);
  ScratchTensor(const ScratchTensor&) = delete;
  ScratchTensor& operator=(const ScratchTensor&) = delete;

  // False when memory is exhausted or there are more than kMaxDims dimensions.
  bool valid() const { return address_ != nullptr; }
  const TensorView& view() const { return view_; }
  // The worker's address.
  template <typename T = void>
  T* address() const {
    return static_cast<T*>(address_);
  }

 private:
  TensorView view_;
  void* address_ = nullptr;
  int64_t strides_[kMaxDims] = {};
};

// `bytes` of scratch memory as the worker's address; nullptr when exhausted.
// At least one byte is allocated.
void* scratchAddress(const Queue& queue, int64_t bytes);

// store() of each, until one fails.
Status storeAll(std::initializer_list<DenseTensor*> outputs);

}  // namespace dipu::kernels
