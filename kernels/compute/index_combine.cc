// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/index_combine.h"

#include <algorithm>
#include <cstring>

#include "kernels/compute/folds.h"
#include "kernels/compute/index_check.h"
#include "kernels/compute/operands.h"
#include "kernels/compute/parallel.h"

namespace dipu::kernels {
namespace {

// Dense tensors cut along a dimension: `outer` groups of rows of `inner`
// elements, `size` rows in a group of the output, `count` in one of the source.
struct Rows {
  IndexReader index;
  int64_t index_stride;
  int64_t outer;
  int64_t inner;
  int64_t size;
  int64_t count;

  // The row that element `i` of the index names, -1 if there is none.
  int64_t target(int64_t i) const {
    const int64_t row = index.at(i * index_stride);
    return row >= 0 && row < size ? row : -1;
  }
  void check() const {
    for (int64_t i = 0; i < count; ++i) {
      if (target(i) < 0) {
        return reportIndex(index.at(i * index_stride), size);
      }
    }
  }
};

template <typename Fold>
struct CombineTask {
  using T = typename Fold::Type;
  T* out;
  const T* source;
  int64_t* counts;  // rows that each row took; nullptr: not needed
  T alpha;
  bool include_self;
  bool mean;
  Rows rows;

  void count() const {
    std::fill_n(counts, rows.size, int64_t{0});
    for (int64_t i = 0; i < rows.count; ++i) {
      const int64_t row = rows.target(i);
      if (row >= 0) ++counts[row];
    }
  }

  // Calls body(row, its first element) for the rows that took others.
  template <typename Body>
  void eachTaken(T* group, const Body& body) const {
    for (int64_t row = 0; row < rows.size; ++row) {
      if (counts[row] > 0) body(row, group + row * rows.inner);
    }
  }

  // All rows of a group, in the columns from `begin` to `end`.
  void columns(int64_t group, int64_t begin, int64_t end) const {
    T* to = out + group * rows.size * rows.inner;
    const T* from = source + group * rows.count * rows.inner;
    if (!include_self) {
      eachTaken(to, [&](int64_t, T* row) {
        std::fill(row + begin, row + end, Fold::kStart);
      });
    }
    for (int64_t i = 0; i < rows.count; ++i) {
      const int64_t row = rows.target(i);
      if (row < 0) continue;
      T* a = to + row * rows.inner;
      const T* b = from + i * rows.inner;
#pragma GCC ivdep
      for (int64_t j = begin; j < end; ++j) {
        a[j] = Fold::apply(a[j], static_cast<T>(alpha * b[j]));
      }
    }
    if (!mean) return;
    eachTaken(to, [&](int64_t row, T* a) {
      const int64_t n = counts[row] + (include_self ? 1 : 0);
      for (int64_t j = begin; j < end; ++j) a[j] = meanOf(a[j], n);
    });
  }

  void operator()() const {
    rows.check();
    if (counts != nullptr) count();
    parallelFor(rows.outer * rows.inner, grainFor(rows.count + rows.size),
                [this](int64_t begin, int64_t end) {
                  while (begin < end) {
                    const int64_t group = begin / rows.inner;
                    const int64_t first = begin % rows.inner;
                    const int64_t some =
                        std::min(end - begin, rows.inner - first);
                    columns(group, first, first + some);
                    begin += some;
                  }
                });
  }
};

struct CopyTask {
  char* out;
  const char* source;
  int64_t row_bytes;
  Rows rows;

  void operator()() const {
    rows.check();
    const auto bytes = static_cast<std::size_t>(row_bytes);
    parallelFor(rows.outer, grainFor(rows.count * rows.inner),
                [&](int64_t begin, int64_t end) {
                  for (int64_t group = begin; group < end; ++group) {
                    for (int64_t i = 0; i < rows.count; ++i) {
                      const int64_t row = rows.target(i);
                      if (row < 0) continue;
                      std::memcpy(out + (group * rows.size + row) * row_bytes,
                                  source + (group * rows.count + i) * row_bytes,
                                  bytes);
                    }
                  }
                });
  }
};

Status checkOperands(const char* operation, const TensorView& out,
                     const TensorView& index, const TensorView& source,
                     int64_t* dim) {
  if (!isIndexType(index.dtype)) {
    return unsupportedDType(operation, index.dtype);
  }
  if (itemSize(out.dtype) == 0 || source.dtype != out.dtype) {
    return unsupportedDType(operation, source.dtype);
  }
  const Status status = wrapDim(operation, out.ndim, dim);
  if (status != Status::kOk) return status;
  const int64_t expected = sizeBetween(out, 0, *dim) * index.numel *
                           sizeBetween(out, *dim + 1, out.ndim);
  if (index.ndim > 1 || source.numel != expected) {
    return fail(Status::kInvalid,
                "%s: the source has %lld elements, not %lld, or the index is "
                "not a vector",
                operation, static_cast<long long>(source.numel),
                static_cast<long long>(expected));
  }
  return Status::kOk;
}

Rows rowsOf(const Queue& queue, const TensorView& out, int64_t dim,
            const TensorView& index) {
  Rows rows;
  rows.index = {translateView<char>(queue, index),
                index.dtype == DType::kInt64};
  rows.index_stride = index.ndim == 0 ? 0 : index.strides[0];
  rows.outer = sizeBetween(out, 0, dim);
  rows.inner = sizeBetween(out, dim + 1, out.ndim);
  rows.size = out.ndim == 0 ? 1 : out.sizes[dim];
  rows.count = index.numel;
  return rows;
}

Status combineRows(const Queue& queue, const char* operation,
                   const TensorView& out, int64_t dim, const TensorView& index,
                   const TensorView& source, Combine combine, bool include_self,
                   const Scalar& alpha) {
  Status status = checkOperands(operation, out, index, source, &dim);
  if (status != Status::kOk || source.numel == 0) return status;
  const bool mean = combine == Combine::kMean;
  if (mean && out.dtype == DType::kBool) {
    return unsupportedDType(operation, out.dtype);
  }
  const DType compute = foldType(out.dtype);
  DenseTensor to(queue, out, Order::kRowMajor, compute);
  DenseTensor from(queue, source, Order::kRowMajor, compute);
  if (!to.load() || !from.load()) return Status::kFailed;
  const Rows rows = rowsOf(queue, out, dim, index);
  if (rows.index.data == nullptr) return Status::kOk;
  int64_t* counts = nullptr;
  if (mean || !include_self) {
    counts = static_cast<int64_t*>(scratchAddress(
        queue, rows.size * static_cast<int64_t>(sizeof(int64_t))));
    if (counts == nullptr) return Status::kFailed;
  }
  const bool known = dispatchFold(combine, compute, [&](auto fold) {
    using T = typename decltype(fold)::Type;
    const CombineTask<decltype(fold)> task{to.address<T>(),
                                           from.address<T>(),
                                           counts,
                                           alpha.to<T>(),
                                           include_self,
                                           mean,
                                           rows};
    status = queue.launch(task) ? to.store() : Status::kFailed;
  });
  return known ? status : unsupportedDType(operation, out.dtype);
}

}  // namespace

Status indexReduce(const Queue& queue, const TensorView& out, int64_t dim,
                   const TensorView& index, const TensorView& source,
                   Combine combine, bool include_self) {
  return combineRows(queue, "index_reduce", out, dim, index, source, combine,
                     include_self, {true, 1, 1.0});
}

Status indexAdd(const Queue& queue, const TensorView& out, int64_t dim,
                const TensorView& index, const TensorView& source,
                const Scalar& alpha) {
  return combineRows(queue, "index_add", out, dim, index, source, Combine::kSum,
                     /*include_self=*/true, alpha);
}

Status indexCopy(const Queue& queue, const TensorView& out, int64_t dim,
                 const TensorView& index, const TensorView& source) {
  const Status status = checkOperands("index_copy", out, index, source, &dim);
  if (status != Status::kOk || source.numel == 0) return status;
  DenseTensor to(queue, out, Order::kRowMajor);
  DenseTensor from(queue, source, Order::kRowMajor);
  if (!to.load() || !from.load()) return Status::kFailed;
  const Rows rows = rowsOf(queue, out, dim, index);
  if (rows.index.data == nullptr) return Status::kOk;
  const CopyTask task{to.address<char>(), from.address<char>(),
                      rows.inner * static_cast<int64_t>(itemSize(out.dtype)),
                      rows};
  return queue.launch(task) ? to.store() : Status::kFailed;
}

}  // namespace dipu::kernels
