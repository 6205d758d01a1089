// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/search.h"

#include <algorithm>

#include "kernels/compute/dispatch.h"
#include "kernels/compute/index_check.h"
#include "kernels/compute/operands.h"
#include "kernels/compute/parallel.h"

namespace dipu::kernels {
namespace {

template <typename T>
struct SearchTask {
  int64_t* out;
  const T* sorted;
  const T* values;
  const int64_t* sorter;  // nullptr: none
  int64_t count;          // of values
  int64_t line;           // values that share a line of `sorted`
  int64_t length;         // of such a line
  bool right;

  // Whether the place is behind `element`. Written so that NaN is behind all.
  bool isBehind(T element, T value) const {
    return right ? !(element > value) : !(element >= value);
  }

  int64_t place(int64_t number) const {
    const int64_t first = number / line * length;
    int64_t low = 0;
    int64_t high = length;
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      const int64_t at = sorter != nullptr ? sorter[first + middle] : middle;
      if (at < 0 || at >= length) {
        reportIndex(at, length);
        return 0;
      }
      if (isBehind(sorted[first + at], values[number])) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  void operator()() const {
    parallelFor(count, grainFor(1, 64), [this](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) out[i] = place(i);
    });
  }
};

Status checkOperands(const TensorView& out, const TensorView& sorted,
                     const TensorView& values, const TensorView& sorter) {
  if (!isIndexType(out.dtype)) {
    return unsupportedDType("searchsorted", out.dtype);
  }
  if (itemSize(sorted.dtype) == 0 || itemSize(values.dtype) == 0) {
    return unsupportedDType("searchsorted", sorted.dtype);
  }
  const int32_t last = sorted.ndim - 1;
  const bool fits = last == 0 || (last > 0 && values.ndim == sorted.ndim &&
                                  std::equal(sorted.sizes, sorted.sizes + last,
                                             values.sizes));
  if (!fits || out.numel != values.numel ||
      (sorter.defined() && sorter.numel != sorted.numel)) {
    return fail(Status::kInvalid, "searchsorted: the sizes do not fit");
  }
  return Status::kOk;
}

}  // namespace

Status searchSorted(const Queue& queue, const TensorView& out,
                    const TensorView& sorted, const TensorView& values,
                    const TensorView& sorter, bool right) {
  Status status = checkOperands(out, sorted, values, sorter);
  if (status != Status::kOk || out.numel == 0) return status;
  DType compute = promoteCompute(sorted.dtype, values.dtype);
  if (compute == DType::kInt32) compute = DType::kInt64;
  DenseTensor to(queue, out, Order::kRowMajor, DType::kInt64);
  DenseTensor in(queue, sorted, Order::kRowMajor, compute);
  DenseTensor what(queue, values, Order::kRowMajor, compute);
  DenseTensor by(queue, sorter, Order::kRowMajor, DType::kInt64);
  if (!to.open() || !in.load() || !what.load() || !by.load()) {
    return Status::kFailed;
  }
  const bool known =
      dispatchAmong<float, double, int64_t>(compute, [&](auto tag) {
        using T = typename decltype(tag)::type;
        SearchTask<T> task;
        task.out = to.address<int64_t>();
        task.sorted = in.address<T>();
        task.values = what.address<T>();
        task.sorter = by.address<int64_t>();
        task.count = values.numel;
        task.line =
            sorted.ndim == 1 ? values.numel : values.sizes[values.ndim - 1];
        task.length = sorted.sizes[sorted.ndim - 1];
        task.right = right;
        status = queue.launch(task) ? to.store() : Status::kFailed;
      });
  return known ? status : unsupportedDType("searchsorted", sorted.dtype);
}

}  // namespace dipu::kernels
