// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <memory>

#include "kernels/compute/embedding_bag.h"
#include "kernels/compute/index_check.h"
#include "kernels/compute/operands.h"
#include "kernels/compute/parallel.h"

namespace dipu::kernels {
namespace {

IndexReader readerOf(const DenseTensor& tensor) {
  return {tensor.address<char>(), tensor.view().dtype == DType::kInt64};
}

// Threads own ranges of the rows of the weight: each reads all indices and
// adds the gradients of its own rows in order, so that results repeat.
template <typename T>
struct BackwardTask {
  T* grad_weight;
  const T* grad;
  const T* sample_weights;  // nullptr: all 1
  IndexReader indices;
  IndexReader bag_of_index;
  IndexReader bag_sizes;
  IndexReader maximum_indices;
  int64_t count;
  int64_t rows;
  int64_t width;
  int64_t bags;
  int64_t padding;
  bool by_frequency;
  BagMode mode;

  // Uses of the rows from `begin` up to `end`; nullptr when they do not count.
  std::unique_ptr<int64_t[]> countUses(int64_t begin, int64_t end) const {
    if (!by_frequency) return nullptr;
    std::unique_ptr<int64_t[]> uses(new int64_t[end - begin]());
    for (int64_t i = 0; i < count; ++i) {
      const int64_t row = indices.at(i);
      if (row >= begin && row < end) ++uses[row - begin];
    }
    return uses;
  }

  T factorOf(int64_t i, int64_t bag) const {
    const T factor = sample_weights == nullptr ? T(1) : sample_weights[i];
    if (mode != BagMode::kMean) return factor;
    return factor / static_cast<T>(std::max<int64_t>(1, bag_sizes.at(bag)));
  }

  void addRows(int64_t begin, int64_t end) const {
    const auto uses = countUses(begin, end);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t row = indices.at(i);
      if (row < begin || row >= end || row == padding) continue;
      const int64_t bag = bag_of_index.at(i);
      if (bag < 0 || bag >= bags) continue;
      T factor = factorOf(i, bag);
      if (uses != nullptr) factor /= static_cast<T>(uses[row - begin]);
      T* to = grad_weight + row * width;
      const T* from = grad + bag * width;
#pragma GCC ivdep
      for (int64_t j = 0; j < width; ++j) to[j] += factor * from[j];
    }
  }

  void addMaxima(int64_t begin, int64_t end) const {
    for (int64_t k = 0; k < bags * width; ++k) {
      const int64_t row = maximum_indices.at(k);
      if (row < begin || row >= end) continue;
      grad_weight[row * width + k % width] += grad[k];
    }
  }

  void operator()() const {
    const int64_t uses = mode == BagMode::kMax ? bags : count;
    parallelFor(rows, grainFor(width * (1 + uses / rows)),
                [this](int64_t begin, int64_t end) {
                  std::fill(grad_weight + begin * width,
                            grad_weight + end * width, T(0));
                  if (mode == BagMode::kMax) {
                    addMaxima(begin, end);
                  } else {
                    addRows(begin, end);
                  }
                });
  }
};

Status check(const TensorView& grad_weight, const BagGradient& a) {
  if (!isFloating(a.grad.dtype)) {
    return unsupportedDType("embedding_bag_backward", a.grad.dtype);
  }
  for (const TensorView* list : {&a.indices, &a.bag_of_index, &a.bag_sizes}) {
    if (!isIndexType(list->dtype)) {
      return unsupportedDType("embedding_bag_backward", list->dtype);
    }
  }
  const bool fits = grad_weight.ndim == 2 && a.grad.ndim == 2 &&
                    a.grad.sizes[1] == grad_weight.sizes[1];
  const bool has_bags =
      a.bag_of_index.numel == a.indices.numel &&
      (a.mode != BagMode::kMean || a.bag_sizes.numel == a.grad.sizes[0]);
  const bool has_maxima =
      a.mode != BagMode::kMax || (a.maximum_indices.numel == a.grad.numel &&
                                  isIndexType(a.maximum_indices.dtype));
  if (fits && has_bags && has_maxima) return Status::kOk;
  // What another implementation of the forward function may have saved.
  return fail(Status::kUnsupported,
              "embedding_bag_backward: sizes of the saved tensors do not fit");
}

// The p-norm of a row.
template <typename T>
double rowNorm(const T* row, int64_t width, double p) {
  double sum = 0;
  for (int64_t j = 0; j < width; ++j) {
    const double x =
        std::fabs(static_cast<double>(static_cast<ComputeType<T>>(row[j])));
    if (p == 2.0) {
      sum += x * x;
    } else if (p == 1.0) {
      sum += x;
    } else if (std::isinf(p)) {
      sum = std::max(sum, x);
    } else {
      sum += std::pow(x, p);
    }
  }
  if (p == 1.0 || std::isinf(p)) return sum;
  return p == 2.0 ? std::sqrt(sum) : std::pow(sum, 1.0 / p);
}

template <typename T>
struct RenormTask {
  T* weight;
  IndexReader indices;
  int64_t count;
  int64_t rows;
  int64_t width;
  double limit;
  double p;

  void scale(T* row) const {
    using C = ComputeType<T>;
    const double norm = rowNorm(row, width, p);
    if (!(norm > limit)) return;
    const C factor = static_cast<C>(limit / (norm + 1e-7));
    for (int64_t j = 0; j < width; ++j) {
      row[j] = static_cast<T>(static_cast<C>(row[j]) * factor);
    }
  }

  void operator()() const {
    const std::unique_ptr<bool[]> used(new bool[rows]());
    for (int64_t i = 0; i < count; ++i) {
      const int64_t row = indices.at(i);
      if (row < 0 || row >= rows) {
        reportIndex(row, rows);
      } else {
        used[row] = true;
      }
    }
    parallelFor(rows, grainFor(width, 2), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        if (used[row]) scale(weight + row * width);
      }
    });
  }
};

}  // namespace

Status embeddingBagBackward(const Queue& queue, const TensorView& grad_weight,
                            const BagGradient& a) {
  const Status status = check(grad_weight, a);
  if (status != Status::kOk || grad_weight.numel == 0) return status;
  const DType compute =
      a.grad.dtype == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
  constexpr Order kOrder = Order::kRowMajor;
  DenseTensor to(queue, grad_weight, kOrder, compute);
  DenseTensor from(queue, a.grad, kOrder, compute);
  DenseTensor samples(queue, a.per_sample_weights, kOrder, compute);
  DenseTensor indices(queue, a.indices, kOrder);
  DenseTensor bag_of_index(queue, a.bag_of_index, kOrder);
  DenseTensor bag_sizes(queue, a.bag_sizes, kOrder);
  DenseTensor maxima(queue, a.maximum_indices, kOrder);
  if (!to.open() || !from.load() || !samples.load() || !indices.load() ||
      !bag_of_index.load() || !bag_sizes.load() || !maxima.load()) {
    return Status::kFailed;
  }
  bool sent = false;
  dispatchAmong<float, double>(compute, [&](auto tag) {
    using T = typename decltype(tag)::type;
    sent = queue.launch(BackwardTask<T>{
        to.address<T>(), from.address<T>(), samples.address<T>(),
        readerOf(indices), readerOf(bag_of_index), readerOf(bag_sizes),
        readerOf(maxima), a.indices.numel, grad_weight.sizes[0],
        grad_weight.sizes[1], a.grad.sizes[0], a.padding_idx, a.by_frequency,
        a.mode});
  });
  return sent ? to.store() : Status::kFailed;
}

Status embeddingRenorm(const Queue& queue, const TensorView& weight,
                       const TensorView& indices, double limit, double p) {
  if (!isIndexType(indices.dtype)) {
    return unsupportedDType("embedding_renorm_", indices.dtype);
  }
  if (weight.ndim != 2) {
    return fail(Status::kInvalid,
                "embedding_renorm_: the weight has %d dimensions, not 2",
                weight.ndim);
  }
  if (weight.numel == 0 || indices.numel == 0) return Status::kOk;
  DenseTensor rows(queue, weight, Order::kRowMajor);
  DenseTensor index(queue, indices, Order::kRowMajor);
  if (!rows.load() || !index.load()) return Status::kFailed;
  const Status sent = launchFloating(
      queue, "embedding_renorm_", weight.dtype,
      [data = rows.address(), reader = readerOf(index), count = indices.numel,
       height = weight.sizes[0], width = weight.sizes[1], limit, p](auto tag) {
        using T = typename decltype(tag)::type;
        RenormTask<T>{
            static_cast<T*>(data), reader, count, height, width, limit, p}();
      });
  return sent == Status::kOk ? rows.store() : sent;
}

}  // namespace dipu::kernels
