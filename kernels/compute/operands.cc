// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/operands.h"

#include <algorithm>

namespace dipu::kernels {
namespace {

// Strides of a dense tensor of these sizes.
void denseStrides(const TensorView& view, Order order, int64_t* strides) {
  int64_t next = 1;
  const bool channels_last = order == Order::kChannelsLast;
  if (channels_last) {
    strides[1] = 1;
    next = view.sizes[1];
  }
  for (int32_t i = view.ndim - 1; i >= 0; --i) {
    if (channels_last && i == 1) continue;
    strides[i] = next;
    next *= view.sizes[i];
  }
}

}  // namespace

bool sameShape(const TensorView& a, const TensorView& b) {
  return a.dtype == b.dtype && a.ndim == b.ndim &&
         std::equal(a.sizes, a.sizes + a.ndim, b.sizes);
}

bool isDense(const TensorView& view, Order order) {
  if (order == Order::kRowMajor || view.ndim < 3) return isContiguous(view);
  int64_t strides[kMaxDims];
  if (view.ndim > kMaxDims) return false;
  denseStrides(view, order, strides);
  for (int32_t i = 0; i < view.ndim; ++i) {
    if (view.sizes[i] != 1 && view.strides[i] != strides[i]) return false;
  }
  return true;
}

Order orderOf(const TensorView& view) {
  const bool spatial = view.ndim >= 3 && view.ndim <= 5;
  if (!spatial || isContiguous(view)) return Order::kRowMajor;
  return isDense(view, Order::kChannelsLast) ? Order::kChannelsLast
                                             : Order::kRowMajor;
}

DenseTensor::DenseTensor(const Queue& queue, const TensorView& tensor,
                         Order order, DType dtype)
    : queue_(queue), tensor_(tensor), view_(tensor) {
  if (!tensor.defined() || tensor.ndim > kMaxDims) return;
  if (tensor.dtype == dtype && isDense(tensor, order)) return;
  copied_ = true;
  denseStrides(tensor, tensor.ndim < 3 ? Order::kRowMajor : order, strides_);
  view_.strides = strides_;
  view_.dtype = dtype;
}

bool DenseTensor::load() {
  if (!open()) return false;
  return !copied_ || convertTensor(queue_, view_, tensor_) == Status::kOk;
}

bool DenseTensor::open() {
  if (!tensor_.defined()) return true;
  if (tensor_.ndim > kMaxDims) {
    fail(Status::kUnsupported, "more than %d dimensions", kMaxDims);
    return false;
  }
  if (copied_) {
    view_.data = queue_.scratch(std::max<std::size_t>(1, spanBytes(view_)));
    if (view_.data == nullptr) return false;
  }
  address_ = translateView(queue_, view_);
  return address_ != nullptr;
}

Status DenseTensor::store() {
  return copied_ ? convertTensor(queue_, tensor_, view_) : Status::kOk;
}

ScratchTensor::ScratchTensor(const Queue& queue, const TensorView& shape,
                             DType dtype)
    : view_(shape) {
  if (shape.ndim > kMaxDims) {
    fail(Status::kUnsupported, "more than %d dimensions", kMaxDims);
    return;
  }
  denseStrides(shape, Order::kRowMajor, strides_);
  view_.strides = strides_;
  view_.dtype = dtype;
  const std::size_t bytes = std::max<std::size_t>(1, spanBytes(view_));
  view_.data = queue.scratch(bytes);
  if (view_.data != nullptr) address_ = queue.translate(view_.data, bytes);
}

void* scratchAddress(const Queue& queue, int64_t bytes) {
  const std::size_t size =
      static_cast<std::size_t>(std::max<int64_t>(1, bytes));
  void* data = queue.scratch(size);
  return data == nullptr ? nullptr : queue.translate(data, size);
}

Status storeAll(std::initializer_list<DenseTensor*> outputs) {
  for (DenseTensor* output : outputs) {
    const Status status = output->store();
    if (status != Status::kOk) return status;
  }
  return Status::kOk;
}

}  // namespace dipu::kernels
