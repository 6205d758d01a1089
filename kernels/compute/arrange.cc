// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/arrange.h"

#include <algorithm>
#include <cstring>

#include "kernels/compute/dispatch.h"
#include "kernels/compute/elementwise.h"
#include "kernels/compute/index_check.h"
#include "kernels/compute/operands.h"
#include "kernels/compute/parallel.h"

namespace dipu::kernels {
namespace {

// A part of a tensor along one dimension; borrows everything else.
struct Part {
  int64_t sizes[kMaxDims];

  TensorView of(const TensorView& view, int64_t dim, int64_t start,
                int64_t size) {
    TensorView result = view;
    if (view.ndim == 0) return result;
    std::copy_n(view.sizes, view.ndim, sizes);
    result.numel =
        view.sizes[dim] == 0 ? 0 : view.numel / view.sizes[dim] * size;
    sizes[dim] = size;
    result.sizes = sizes;
    result.data =
        static_cast<char*>(view.data) +
        start * view.strides[dim] * static_cast<int64_t>(itemSize(view.dtype));
    return result;
  }
};

Status checkPart(const char* operation, const TensorView& view, int64_t* dim,
                 int64_t start, int64_t size) {
  const Status status = wrapDim(operation, view.ndim, dim);
  if (status != Status::kOk) return status;
  if (view.ndim > kMaxDims) {
    return fail(Status::kUnsupported, "%s of %d dimensions", operation,
                view.ndim);
  }
  const int64_t length = view.ndim == 0 ? 1 : view.sizes[*dim];
  if (start < 0 || start + size > length) {
    return fail(Status::kInvalid, "%s: part [%lld, %lld) of %lld elements",
                operation, static_cast<long long>(start),
                static_cast<long long>(start + size),
                static_cast<long long>(length));
  }
  return Status::kOk;
}

int64_t sizeAlong(const TensorView& view, int64_t dim) {
  return view.ndim == 0 ? 1 : view.sizes[dim < 0 ? dim + view.ndim : dim];
}

// Dense rows in which some dimensions run backwards. T has an element's width.
template <typename T>
struct FlipTask {
  T* out;
  const T* input;
  int64_t count;
  int32_t ndim;
  int64_t sizes[kMaxDims];
  bool flipped[kMaxDims];

  void operator()() const {
    const int64_t width = sizes[ndim - 1];
    parallelFor(count / width, grainFor(width),
                [this](int64_t begin, int64_t end) {
                  for (int64_t row = begin; row < end; ++row) copyRow(row);
                });
  }

  void copyRow(int64_t row) const {
    const int64_t width = sizes[ndim - 1];
    int64_t rest = row;
    int64_t from = 0;
    int64_t stride = 1;
    for (int32_t d = ndim - 2; d >= 0; --d) {
      const int64_t at = rest % sizes[d];
      rest /= sizes[d];
      from += (flipped[d] ? sizes[d] - 1 - at : at) * stride;
      stride *= sizes[d];
    }
    T* const to = out + row * width;
    const T* const source = input + from * width;
    if (flipped[ndim - 1]) {
      std::reverse_copy(source, source + width, to);
    } else {
      std::copy_n(source, width, to);
    }
  }
};

template <typename T>
Status launchFlip(const Queue& queue, const TensorView& input,
                  const bool* flipped, DenseTensor& to, DenseTensor& from) {
  FlipTask<T> task{};
  task.out = to.address<T>();
  task.input = from.address<T>();
  task.count = input.numel;
  task.ndim = input.ndim;
  std::copy_n(input.sizes, input.ndim, task.sizes);
  std::copy_n(flipped, input.ndim, task.flipped);
  return queue.launch(task) ? Status::kOk : Status::kFailed;
}

// Copies the two parts into which a shift cuts one dimension, each of them
// shifted along the remaining dimensions.
Status rollFrom(const Queue& queue, const TensorView& out,
                const TensorView& input, const int64_t* shifts,
                const int64_t* dims, int64_t count) {
  if (count == 0) return convertTensor(queue, out, input);
  int64_t dim = *dims;
  const Status status = checkPart("roll", input, &dim, 0, 0);
  if (status != Status::kOk) return status;
  const int64_t size = sizeAlong(input, dim);
  const int64_t shift = ((*shifts % size) + size) % size;
  Part from;
  Part to;
  const Status first = rollFrom(queue, to.of(out, dim, shift, size - shift),
                                from.of(input, dim, 0, size - shift),
                                shifts + 1, dims + 1, count - 1);
  if (first != Status::kOk || shift == 0) return first;
  return rollFrom(queue, to.of(out, dim, 0, shift),
                  from.of(input, dim, size - shift, shift), shifts + 1,
                  dims + 1, count - 1);
}

}  // namespace

Status copyInto(const Queue& queue, const TensorView& out, int64_t dim,
                int64_t start, const TensorView& input) {
  const int64_t size = sizeAlong(input, dim);
  const Status status = checkPart("cat", out, &dim, start, size);
  if (status != Status::kOk) return status;
  Part part;
  return convertTensor(queue, part.of(out, dim, start, size), input);
}

Status copyFrom(const Queue& queue, const TensorView& out,
                const TensorView& input, int64_t dim, int64_t start) {
  const int64_t size = sizeAlong(out, dim);
  const Status status = checkPart("split", input, &dim, start, size);
  if (status != Status::kOk) return status;
  Part part;
  return convertTensor(queue, out, part.of(input, dim, start, size));
}

Status flip(const Queue& queue, const TensorView& out, const TensorView& input,
            const int64_t* dims, int64_t count) {
  if (out.dtype != input.dtype || itemSize(input.dtype) == 0) {
    return unsupportedDType("flip", input.dtype);
  }
  bool flipped[kMaxDims] = {};
  for (int64_t i = 0; i < count; ++i) {
    int64_t dim = dims[i];
    const Status status = wrapDim("flip", input.ndim, &dim);
    if (status != Status::kOk) return status;
    if (dim < kMaxDims) flipped[dim] = true;
  }
  if (out.numel == 0) return Status::kOk;
  if (input.ndim == 0) return convertTensor(queue, out, input);
  DenseTensor to(queue, out, Order::kRowMajor);
  DenseTensor from(queue, input, Order::kRowMajor);
  if (!to.open() || !from.load()) return Status::kFailed;
  Status status = Status::kOk;
  dispatchWidth(input.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    status = launchFlip<T>(queue, input, flipped, to, from);
  });
  return status == Status::kOk ? to.store() : status;
}

Status roll(const Queue& queue, const TensorView& out, const TensorView& input,
            const int64_t* shifts, const int64_t* dims, int64_t count) {
  if (out.numel == 0) return Status::kOk;
  if (input.ndim == 0) return convertTensor(queue, out, input);
  if (dims != nullptr) return rollFrom(queue, out, input, shifts, dims, count);
  DenseTensor from(queue, input, Order::kRowMajor);
  DenseTensor to(queue, out, Order::kRowMajor);
  if (!from.load() || !to.open()) return Status::kFailed;
  const int64_t length = input.numel;
  const int64_t one = 1;
  const int64_t zero = 0;
  const auto flat = [&](TensorView view) {
    view.ndim = 1;
    view.sizes = &length;
    view.strides = &one;
    return view;
  };
  const Status status =
      rollFrom(queue, flat(to.view()), flat(from.view()), shifts, &zero, 1);
  return status == Status::kOk ? to.store() : status;
}

Status repeat(const Queue& queue, const TensorView& out,
              const TensorView& input) {
  // Both seen with two dimensions for each of the output: the copies, along
  // which the input does not move, and the input's own.
  int64_t sizes[2 * kMaxDims];
  int64_t out_strides[2 * kMaxDims];
  int64_t in_strides[2 * kMaxDims];
  if (out.ndim > kMaxDims || input.ndim > out.ndim) {
    return fail(Status::kUnsupported, "repeat of %d into %d dimensions",
                input.ndim, out.ndim);
  }
  if (out.numel == 0) return Status::kOk;
  for (int32_t d = 0; d < out.ndim; ++d) {
    const int32_t own = d - (out.ndim - input.ndim);
    const int64_t size = own < 0 ? 1 : input.sizes[own];
    if (size == 0 || out.sizes[d] % size != 0) {
      return fail(Status::kInvalid, "repeat: size %lld is no multiple of %lld",
                  static_cast<long long>(out.sizes[d]),
                  static_cast<long long>(size));
    }
    sizes[2 * d] = out.sizes[d] / size;
    sizes[2 * d + 1] = size;
    out_strides[2 * d] = out.strides[d] * size;
    out_strides[2 * d + 1] = out.strides[d];
    in_strides[2 * d] = 0;
    in_strides[2 * d + 1] = own < 0 ? 0 : input.strides[own];
  }
  TensorView to = out;
  TensorView from = input;
  to.ndim = from.ndim = 2 * out.ndim;
  to.sizes = from.sizes = sizes;
  to.strides = out_strides;
  from.strides = in_strides;
  from.numel = to.numel;
  return convertTensor(queue, to, from);
}

}  // namespace dipu::kernels
