// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>

#include "kernels/compute/dispatch.h"
#include "kernels/compute/index.h"
#include "kernels/compute/index_check.h"
#include "kernels/compute/operands.h"
#include "kernels/compute/parallel.h"

namespace dipu::kernels {
namespace {

// Threads own ranges of the rows of the weight: each reads all indices and
// adds the gradients of its own rows in order, so that results repeat.
template <typename T>
struct BackwardTask {
  T* grad_weight;
  const T* grad;
  IndexReader indices;
  int64_t count;
  int64_t rows;
  int64_t width;
  int64_t padding;
  bool by_frequency;

  void addRows(int64_t begin, int64_t end) const {
    std::fill(grad_weight + begin * width, grad_weight + end * width, T(0));
    for (int64_t i = 0; i < count; ++i) {
      const int64_t row = indices.at(i);
      if (row < begin || row >= end || row == padding) continue;
      T* to = grad_weight + row * width;
      const T* from = grad + i * width;
#pragma GCC ivdep
      for (int64_t j = 0; j < width; ++j) to[j] += from[j];
    }
  }

  void divideRows(int64_t begin, int64_t end) const {
    const std::unique_ptr<int64_t[]> uses(new int64_t[end - begin]());
    for (int64_t i = 0; i < count; ++i) {
      const int64_t row = indices.at(i);
      if (row >= begin && row < end) ++uses[row - begin];
    }
    for (int64_t row = begin; row < end; ++row) {
      const int64_t n = uses[row - begin];
      if (n < 2) continue;
      T* to = grad_weight + row * width;
      for (int64_t j = 0; j < width; ++j) to[j] /= static_cast<T>(n);
    }
  }

  void operator()() const {
    for (int64_t i = 0; i < count; ++i) {
      const int64_t row = indices.at(i);
      if (row < 0 || row >= rows) reportIndex(row, rows);
    }
    parallelFor(rows, grainFor(width * (1 + count / rows)),
                [this](int64_t begin, int64_t end) {
                  addRows(begin, end);
                  if (by_frequency) divideRows(begin, end);
                });
  }
};

}  // namespace

Status embeddingBackward(const Queue& queue, const TensorView& grad_weight,
                         const TensorView& grad, const TensorView& indices,
                         int64_t padding_idx, bool by_frequency) {
  if (!isIndexType(indices.dtype)) {
    return unsupportedDType("embedding_backward", indices.dtype);
  }
  if (grad_weight.ndim != 2 ||
      grad.numel != indices.numel * grad_weight.sizes[1]) {
    return fail(Status::kInvalid, "embedding_backward: sizes do not fit");
  }
  if (grad_weight.numel == 0) return Status::kOk;
  const DType compute =
      grad.dtype == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
  DenseTensor to(queue, grad_weight, Order::kRowMajor, compute);
  DenseTensor from(queue, grad, Order::kRowMajor, compute);
  DenseTensor index(queue, indices, Order::kRowMajor);
  if (!to.open() || !from.load() || !index.load()) return Status::kFailed;
  bool sent = false;
  dispatchAmong<float, double>(compute, [&](auto tag) {
    using T = typename decltype(tag)::type;
    BackwardTask<T> task;
    task.grad_weight = to.address<T>();
    task.grad = from.address<T>();
    task.indices = {index.address<char>(), indices.dtype == DType::kInt64};
    task.count = indices.numel;
    task.rows = grad_weight.sizes[0];
    task.width = grad_weight.sizes[1];
    task.padding = padding_idx;
    task.by_frequency = by_frequency;
    sent = queue.launch(task);
  });
  return sent ? to.store() : Status::kFailed;
}

}  // namespace dipu::kernels
