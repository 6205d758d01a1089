// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/embedding_bag.h"

#include <algorithm>

#include "kernels/compute/index_check.h"
#include "kernels/compute/operands.h"
#include "kernels/compute/parallel.h"
#include "kernels/compute/refusal.h"

namespace dipu::kernels {
namespace {

// An index tensor that is written, of the type of the reader; may be absent.
struct IndexWriter {
  char* data;
  bool wide;

  void put(int64_t element, int64_t value) const {
    if (data == nullptr) return;
    if (wide) {
      reinterpret_cast<int64_t*>(data)[element] = value;
    } else {
      reinterpret_cast<int32_t*>(data)[element] = static_cast<int32_t>(value);
    }
  }
};

IndexWriter writerOf(const DenseTensor& tensor) {
  return {tensor.address<char>(), tensor.view().dtype == DType::kInt64};
}

IndexReader readerOf(const DenseTensor& tensor) {
  return {tensor.address<char>(), tensor.view().dtype == DType::kInt64};
}

// Plain values, for the worker. The weight stays as it is stored: it may be
// large, and few of its rows are read.
template <typename T>
struct ForwardTask {
  using C = ComputeType<T>;

  const T* weight;
  const C* sample_weights;  // nullptr: all 1
  IndexReader indices;
  IndexReader offsets;
  C* out;
  IndexWriter bag_of_index;
  IndexWriter bag_sizes;
  IndexWriter maximum_indices;
  int64_t rows;
  int64_t width;
  int64_t count;
  int64_t bags;
  bool has_end;
  BagMode mode;
  int64_t padding;

  int64_t endOf(int64_t bag) const {
    const bool last = bag + 1 == bags && !has_end;
    return last ? count : offsets.at(bag + 1);
  }

  // Adds row `row` to a bag that holds `size` rows so far.
  void add(int64_t bag, int64_t i, int64_t row, int64_t size) const {
    C* to = out + bag * width;
    const T* from = weight + row * width;
    if (mode != BagMode::kMax) {
      const C factor = sample_weights == nullptr ? C(1) : sample_weights[i];
#pragma GCC ivdep
      for (int64_t j = 0; j < width; ++j) {
        to[j] += factor * static_cast<C>(from[j]);
      }
      return;
    }
    for (int64_t j = 0; j < width; ++j) {
      const C value = static_cast<C>(from[j]);
      if (size > 0 && !(value > to[j])) continue;
      to[j] = value;
      maximum_indices.put(bag * width + j, row);
    }
  }

  void start(int64_t bag) const {
    std::fill(out + bag * width, out + (bag + 1) * width, C(0));
    if (mode != BagMode::kMax) return;
    for (int64_t j = 0; j < width; ++j)
      maximum_indices.put(bag * width + j, -1);
  }

  void compute(int64_t bag) const {
    start(bag);
    const int64_t begin = std::max<int64_t>(0, offsets.at(bag));
    const int64_t end = std::min(count, endOf(bag));
    int64_t size = 0;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = indices.at(i);
      bag_of_index.put(i, bag);
      if (row == padding) continue;
      if (row < 0 || row >= rows) {
        reportIndex(row, rows);
        continue;
      }
      add(bag, i, row, size++);
    }
    bag_sizes.put(bag, size);
    if (mode != BagMode::kMean || size < 2) return;
    C* to = out + bag * width;
    for (int64_t j = 0; j < width; ++j) to[j] /= static_cast<C>(size);
  }

  void refuseOffset(int64_t bag, int64_t at, int64_t before) const {
    if (bag == 0) {
      return refuse(
          "offsets[0] has to be 0, where the first bag starts, but is %lld",
          static_cast<long long>(at));
    }
    refuse(
        "offsets[%lld] is %lld, but should lie between the offset before, "
        "%lld, and the number of indices, %lld",
        static_cast<long long>(bag), static_cast<long long>(at),
        static_cast<long long>(before), static_cast<long long>(count));
  }

  // Offsets must rise from 0 to at most the number of indices.
  bool check() const {
    int64_t before = 0;
    for (int64_t bag = 0; bag < bags + (has_end ? 1 : 0); ++bag) {
      const int64_t at = offsets.at(bag);
      if (at < before || at > count || (bag == 0 && at != 0)) {
        refuseOffset(bag, at, before);
        return false;
      }
      before = at;
    }
    return true;
  }

  void operator()() const {
    if (!check()) return;
    for (int64_t i = 0; i < count; ++i) bag_of_index.put(i, -1);
    const int64_t each = 1 + count / std::max<int64_t>(1, bags);
    parallelFor(bags, grainFor(width * each),
                [this](int64_t begin, int64_t end) {
                  for (int64_t bag = begin; bag < end; ++bag) compute(bag);
                });
  }
};

template <typename T>
struct SampleGradientTask {
  using C = ComputeType<T>;

  const C* grad;
  const T* weight;
  IndexReader indices;
  IndexReader bag_of_index;
  C* out;
  int64_t count;
  int64_t rows;
  int64_t bags;
  int64_t width;
  int64_t padding;

  C compute(int64_t i) const {
    const int64_t row = indices.at(i);
    const int64_t bag = bag_of_index.at(i);
    if (row == padding || bag < 0) return C(0);
    if (row < 0 || row >= rows || bag >= bags) {
      reportIndex(row, rows);
      return C(0);
    }
    double sum = 0;
    for (int64_t j = 0; j < width; ++j) {
      sum += static_cast<double>(grad[bag * width + j]) *
             static_cast<double>(static_cast<C>(weight[row * width + j]));
    }
    return static_cast<C>(sum);
  }

  void operator()() const {
    parallelFor(count, grainFor(width), [this](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) out[i] = compute(i);
    });
  }
};

Status checkIndices(const TensorView& indices, const TensorView& others) {
  if (!isIndexType(indices.dtype)) {
    return unsupportedDType("embedding_bag", indices.dtype);
  }
  return isIndexType(others.dtype)
             ? Status::kOk
             : unsupportedDType("embedding_bag", others.dtype);
}

Status check(const BagArguments& a, int64_t bags, const BagResults& r) {
  if (!isFloating(a.weight.dtype)) {
    return unsupportedDType("embedding_bag", a.weight.dtype);
  }
  if (a.weight.ndim != 2 || r.out.ndim != 2 || r.out.sizes[0] != bags) {
    return fail(Status::kInvalid, "embedding_bag: sizes do not fit");
  }
  if (!a.per_sample_weights.defined()) return Status::kOk;
  if (a.mode != BagMode::kSum) {
    return fail(Status::kInvalid,
                "embedding_bag: per_sample_weights go with mode 'sum' only");
  }
  if (a.per_sample_weights.numel != a.indices.numel) {
    return fail(Status::kInvalid, "embedding_bag: %ld weights for %ld indices",
                long(a.per_sample_weights.numel), long(a.indices.numel));
  }
  return Status::kOk;
}

}  // namespace

Status embeddingBag(const Queue& queue, const BagResults& r,
                    const BagArguments& a) {
  const int64_t bags = a.offsets.numel - (a.include_last_offset ? 1 : 0);
  Status status = checkIndices(a.indices, a.offsets);
  if (status == Status::kOk) status = check(a, bags, r);
  if (status != Status::kOk) return status;
  const DType compute = computeDType(a.weight.dtype);
  constexpr Order kOrder = Order::kRowMajor;
  DenseTensor weight(queue, a.weight, kOrder);
  DenseTensor samples(queue, a.per_sample_weights, kOrder, compute);
  DenseTensor indices(queue, a.indices, kOrder);
  DenseTensor offsets(queue, a.offsets, kOrder);
  DenseTensor out(queue, r.out, kOrder, compute);
  DenseTensor bag_of_index(queue, r.bag_of_index, kOrder);
  DenseTensor bag_sizes(queue, r.bag_sizes, kOrder);
  DenseTensor maxima(queue, r.maximum_indices, kOrder);
  if (!weight.load() || !samples.load() || !indices.load() || !offsets.load() ||
      !out.open() || !bag_of_index.open() || !bag_sizes.open() ||
      !maxima.open()) {
    return Status::kFailed;
  }
  bool sent = false;
  dispatchFloating(a.weight.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = ComputeType<T>;
    sent = queue.launch(ForwardTask<T>{
        weight.address<T>(), samples.address<C>(), readerOf(indices),
        readerOf(offsets), out.address<C>(), writerOf(bag_of_index),
        writerOf(bag_sizes), writerOf(maxima), a.weight.sizes[0],
        a.weight.sizes[1], a.indices.numel, bags, a.include_last_offset, a.mode,
        a.padding_idx});
  });
  return sent ? storeAll({&out, &bag_of_index, &bag_sizes, &maxima})
              : Status::kFailed;
}

Status embeddingBagSampleGradient(const Queue& queue, const TensorView& out,
                                  const TensorView& grad,
                                  const TensorView& weight,
                                  const TensorView& indices,
                                  const TensorView& bag_of_index,
                                  int64_t padding_idx) {
  const Status status = checkIndices(indices, bag_of_index);
  if (status != Status::kOk) return status;
  if (!isFloating(weight.dtype)) {
    return unsupportedDType("embedding_bag", weight.dtype);
  }
  if (bag_of_index.numel != indices.numel || grad.ndim != 2 ||
      weight.ndim != 2 || grad.sizes[1] != weight.sizes[1]) {
    return fail(Status::kUnsupported, "embedding_bag: sizes do not fit");
  }
  const DType compute = computeDType(weight.dtype);
  constexpr Order kOrder = Order::kRowMajor;
  DenseTensor g(queue, grad, kOrder, compute);
  DenseTensor w(queue, weight, kOrder);
  DenseTensor index(queue, indices, kOrder);
  DenseTensor bag(queue, bag_of_index, kOrder);
  DenseTensor y(queue, out, kOrder, compute);
  if (!g.load() || !w.load() || !index.load() || !bag.load() || !y.open()) {
    return Status::kFailed;
  }
  bool sent = false;
  dispatchFloating(weight.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = ComputeType<T>;
    sent = queue.launch(SampleGradientTask<T>{
        g.address<C>(), w.address<T>(), readerOf(index), readerOf(bag),
        y.address<C>(), indices.numel, weight.sizes[0], grad.sizes[0],
        grad.sizes[1], padding_idx});
  });
  return sent ? y.store() : Status::kFailed;
}

}  // namespace dipu::kernels
