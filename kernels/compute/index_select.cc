// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "kernels/compute/index.h"
#include "kernels/compute/index_check.h"
#include "kernels/compute/operands.h"
#include "kernels/compute/parallel.h"
#include "kernels/compute/raw.h"

namespace dipu::kernels {
namespace {

// Row `i` of each of `outer` groups of `count` rows is a copy of row index[i]
// of the group of `size` rows in the input.
struct SelectTask {
  char* out;
  const char* input;
  IndexReader index;
  int64_t index_stride;
  int64_t outer;
  int64_t count;
  int64_t size;
  int64_t bytes;  // of a row

  template <int64_t fixed>
  void rows(int64_t begin, int64_t end) const {
    const int64_t length = fixed > 0 ? fixed : bytes;
    for (int64_t row = begin; row < end; ++row) {
      const int64_t group = row / count;
      const int64_t at = index.at(row % count * index_stride);
      if (at < 0 || at >= size) {
        reportIndex(at, size);
        continue;
      }
      std::memcpy(out + row * length, input + (group * size + at) * length,
                  static_cast<std::size_t>(length));
    }
  }

  void operator()() const {
    parallelFor(outer * count, grainFor(bytes / 4 + 8),
                [this](int64_t begin, int64_t end) {
                  if (bytes == 4) return rows<4>(begin, end);
                  if (bytes == 8) return rows<8>(begin, end);
                  rows<0>(begin, end);
                });
  }
};

struct FillTask {
  char* out;
  IndexReader index;
  int64_t index_stride;
  int64_t outer;
  int64_t count;
  int64_t size;
  int64_t inner;  // elements of a row
  int64_t item;
  uint64_t bits;

  void operator()() const {
    for (int64_t row = 0; row < outer * count; ++row) {
      const int64_t given = index.at(row % count * index_stride);
      const int64_t at = given < 0 ? given + size : given;
      if (at < 0 || at >= size) {
        reportIndex(given, size);
        continue;
      }
      char* to = out + (row / count * size + at) * inner * item;
      for (int64_t i = 0; i < inner; ++i) {
        std::memcpy(to + i * item, &bits, static_cast<std::size_t>(item));
      }
    }
  }
};

Status selectRows(const Queue& queue, const TensorView& out,
                  const TensorView& input, int64_t dim, const TensorView& index,
                  int64_t count, int64_t index_stride) {
  if (out.numel == 0) return Status::kOk;
  DenseTensor from(queue, input, Order::kRowMajor);
  DenseTensor to(queue, out, Order::kRowMajor, input.dtype);
  if (!from.load() || !to.open()) return Status::kFailed;
  SelectTask task;
  task.out = to.address<char>();
  task.input = from.address<char>();
  task.index = {translateView<char>(queue, index),
                index.dtype == DType::kInt64};
  if (task.index.data == nullptr) return Status::kOk;
  task.index_stride = index_stride;
  task.outer = sizeBetween(input, 0, dim);
  task.count = count;
  task.size = input.ndim == 0 ? 1 : input.sizes[dim];
  task.bytes = sizeBetween(input, dim + 1, input.ndim) *
               static_cast<int64_t>(itemSize(input.dtype));
  if (!queue.launch(task)) return Status::kFailed;
  return to.store();
}

Status checkIndex(const char* operation, const TensorView& input,
                  const TensorView& index, int64_t* dim) {
  if (!isIndexType(index.dtype))
    return unsupportedDType(operation, index.dtype);
  if (itemSize(input.dtype) == 0) {
    return unsupportedDType(operation, input.dtype);
  }
  return wrapDim(operation, input.ndim, dim);
}

}  // namespace

Status indexSelect(const Queue& queue, const TensorView& out,
                   const TensorView& input, int64_t dim,
                   const TensorView& index) {
  const Status status = checkIndex("index_select", input, index, &dim);
  if (status != Status::kOk) return status;
  const int64_t expected = sizeBetween(input, 0, dim) * index.numel *
                           sizeBetween(input, dim + 1, input.ndim);
  if (index.ndim > 1 || out.numel != expected) {
    return fail(Status::kInvalid,
                "index_select: the output has %lld elements, not %lld, or the "
                "index is not a vector",
                static_cast<long long>(out.numel),
                static_cast<long long>(expected));
  }
  const int64_t stride = index.ndim == 0 ? 0 : index.strides[0];
  return selectRows(queue, out, input, dim, index, index.numel, stride);
}

Status indexFill(const Queue& queue, const TensorView& input, int64_t dim,
                 const TensorView& index, const Scalar& value) {
  const Status status = checkIndex("index_fill", input, index, &dim);
  if (status != Status::kOk) return status;
  if (input.numel == 0 || index.numel == 0) return Status::kOk;
  FillTask task;
  if (!scalarBits(value, input.dtype, &task.bits)) {
    return unsupportedDType("index_fill", input.dtype);
  }
  DenseTensor to(queue, input, Order::kRowMajor);
  if (!to.load()) return Status::kFailed;
  task.out = to.address<char>();
  task.index = {translateView<char>(queue, index),
                index.dtype == DType::kInt64};
  if (task.index.data == nullptr) return Status::kOk;
  task.index_stride = index.ndim == 0 ? 0 : index.strides[0];
  task.outer = sizeBetween(input, 0, dim);
  task.count = index.numel;
  task.size = input.ndim == 0 ? 1 : input.sizes[dim];
  task.inner = sizeBetween(input, dim + 1, input.ndim);
  task.item = static_cast<int64_t>(itemSize(input.dtype));
  if (!queue.launch(task)) return Status::kFailed;
  return to.store();
}

Status embedding(const Queue& queue, const TensorView& out,
                 const TensorView& weight, const TensorView& indices) {
  int64_t dim = 0;
  const Status status = checkIndex("embedding", weight, indices, &dim);
  if (status != Status::kOk) return status;
  if (weight.ndim != 2 || out.numel != indices.numel * weight.sizes[1]) {
    return fail(Status::kInvalid, "embedding: sizes do not fit");
  }
  DenseTensor dense(queue, indices, Order::kRowMajor);
  if (!dense.load()) return Status::kFailed;
  return selectRows(queue, out, weight, 0, dense.view(), indices.numel, 1);
}

}  // namespace dipu::kernels
