// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "kernels/compute/arrange.h"
#include "kernels/compute/elementwise.h"
#include "kernels/compute/index_check.h"
#include "kernels/compute/operands.h"
#include "kernels/compute/parallel.h"

namespace dipu::kernels {
namespace {

// Clears one side of a diagonal in matrices of any strides.
struct TriangleTask {
  char* out;
  // Where the other side is copied from, laid out as the result, whose rows are
  // dense; nullptr when it is in its place.
  const char* input;
  int64_t item;
  bool lower;
  int64_t diagonal;
  int64_t rows;
  int64_t columns;
  int64_t row_stride;  // in bytes, as the following
  int64_t column_stride;
  int64_t matrices;
  int32_t ndim;  // dimensions before the last two
  int64_t sizes[kMaxDims];
  int64_t strides[kMaxDims];

  void doRow(int64_t number) const {
    const int64_t row = number % rows;
    int64_t rest = number / rows;
    int64_t offset = row * row_stride;
    for (int32_t d = ndim - 1; d >= 0; --d) {
      offset += rest % sizes[d] * strides[d];
      rest /= sizes[d];
    }
    char* const p = out + offset;
    const int64_t border = row + diagonal + (lower ? 1 : 0);
    const int64_t cut = std::clamp<int64_t>(border, 0, columns);
    const int64_t begin = lower ? cut : 0;
    const int64_t end = lower ? columns : cut;
    const auto bytes = static_cast<std::size_t>(item);
    if (input != nullptr) {
      const int64_t first = lower ? 0 : end;
      const int64_t kept = columns - (end - begin);
      std::memcpy(p + first * item, input + offset + first * item,
                  static_cast<std::size_t>(kept) * bytes);
    }
    if (column_stride == item) {
      std::memset(p + begin * item, 0,
                  static_cast<std::size_t>(end - begin) * bytes);
      return;
    }
    for (int64_t j = begin; j < end; ++j) {
      std::memset(p + j * column_stride, 0, bytes);
    }
  }
  void operator()() const {
    parallelFor(matrices * rows, grainFor(columns),
                [this](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) doRow(i);
                });
  }
};

// input[i...] == c, on the last dimension of a dense output.
struct OneHotTask {
  int64_t* out;
  const int64_t* input;
  int64_t count;
  int64_t classes;

  void operator()() const {
    std::fill_n(out, count * classes, int64_t{0});
    for (int64_t i = 0; i < count; ++i) {
      if (input[i] < 0 || input[i] >= classes) {
        reportIndex(input[i], classes);
      } else {
        out[i * classes + input[i]] = 1;
      }
    }
  }
};

// Whether the kept side is copied by the task itself, in the same pass.
bool isCopiedByRow(const TensorView& out, const TensorView& input) {
  return out.data != input.data && sameShape(out, input) &&
         std::equal(out.strides, out.strides + out.ndim, input.strides) &&
         out.strides[out.ndim - 1] == 1;
}

}  // namespace

Status triangle(const Queue& queue, Triangle which, const TensorView& out,
                const TensorView& input, int64_t diagonal) {
  if (out.ndim < 2 || out.ndim > kMaxDims) {
    return fail(Status::kInvalid,
                "tril and triu need matrices, not %d "
                "dimensions",
                out.ndim);
  }
  if (out.numel == 0) return Status::kOk;
  TriangleTask task;
  task.input = nullptr;
  if (isCopiedByRow(out, input)) {
    task.input = translateView<char>(queue, input);
    if (task.input == nullptr) return Status::kOk;  // enqueued as a failure
  } else if (out.data != input.data) {
    const Status status = convertTensor(queue, out, input);
    if (status != Status::kOk) return status;
  }
  task.out = translateView<char>(queue, out);
  if (task.out == nullptr) return Status::kOk;
  task.item = static_cast<int64_t>(itemSize(out.dtype));
  task.lower = which == Triangle::kLower;
  task.diagonal = diagonal;
  task.ndim = out.ndim - 2;
  task.rows = out.sizes[task.ndim];
  task.columns = out.sizes[task.ndim + 1];
  task.row_stride = out.strides[task.ndim] * task.item;
  task.column_stride = out.strides[task.ndim + 1] * task.item;
  task.matrices = sizeBetween(out, 0, task.ndim);
  for (int32_t d = 0; d < task.ndim; ++d) {
    task.sizes[d] = out.sizes[d];
    task.strides[d] = out.strides[d] * task.item;
  }
  return queue.launch(task) ? Status::kOk : Status::kFailed;
}

Status oneHot(const Queue& queue, const TensorView& out,
              const TensorView& input) {
  if (out.numel == 0) return Status::kOk;
  DenseTensor to(queue, out, Order::kRowMajor, DType::kInt64);
  DenseTensor from(queue, input, Order::kRowMajor, DType::kInt64);
  if (!to.open() || !from.load()) return Status::kFailed;
  const int64_t classes = out.sizes[out.ndim - 1];
  if (out.numel != input.numel * classes) {
    return fail(Status::kInvalid, "one_hot: sizes do not fit");
  }
  const OneHotTask task{to.address<int64_t>(), from.address<int64_t>(),
                        input.numel, classes};
  if (!queue.launch(task)) return Status::kFailed;
  return to.store();
}

}  // namespace dipu::kernels
