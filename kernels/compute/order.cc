// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/order.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/compute/elementwise.h"
#include "kernels/compute/index_check.h"
#include "kernels/compute/line_result.h"
#include "kernels/compute/lines.h"
#include "kernels/compute/operands.h"
#include "kernels/compute/parallel.h"
#include "kernels/compute/sort_key.h"

namespace dipu::kernels {
namespace {

enum class Rank : int32_t { kNth, kMedian, kNumberMedian, kMode };

using Entries = std::vector<SortEntry>;

const SortEntry& nth(Entries* entries, int64_t n) {
  std::nth_element(entries->begin(), entries->begin() + n, entries->end());
  return (*entries)[static_cast<std::size_t>(n)];
}

struct OrderTask {
  char* values;
  char* indices;  // nullptr if not wanted
  const char* input;
  Lines<3> lines;  // of the input, the values and the indices
  int64_t item;    // bytes of an element
  int64_t index_item;
  KeyReader keys;
  Convert store_index;
  Rank rank;
  int64_t k;  // of kNth, counted from 0

  SortEntry median(Entries* entries) const {
    const auto last = static_cast<int64_t>(entries->size()) - 1;
    const auto isNaN = [this](const SortEntry& e) { return keys.isNaN(e.key); };
    if (rank == Rank::kMedian) {
      const auto nan = std::find_if(entries->begin(), entries->end(), isNaN);
      return nan != entries->end() ? *nan : nth(entries, last / 2);
    }
    const auto nans = std::count_if(entries->begin(), entries->end(), isNaN);
    return nth(entries, std::max<int64_t>(0, last - nans) / 2);
  }

  // The last element of the longest run; every NaN is a run of its own.
  SortEntry mode(Entries* entries) const {
    std::sort(entries->begin(), entries->end());
    SortEntry best = entries->front();
    int64_t longest = 0;
    int64_t run = 0;
    for (std::size_t i = 0; i < entries->size(); ++i) {
      const SortEntry& entry = (*entries)[i];
      ++run;
      const bool continues = i + 1 < entries->size() &&
                             (*entries)[i + 1].key == entry.key &&
                             !keys.isNaN(entry.key);
      if (continues) continue;
      if (run > longest) {
        longest = run;
        best = entry;
      }
      run = 0;
    }
    return best;
  }

  int64_t chosen(Entries* entries) const {
    if (rank == Rank::kNth) return nth(entries, k).index;
    return (rank == Rank::kMode ? mode(entries) : median(entries)).index;
  }

  void line(int64_t number, Entries* entries) const {
    const char* from = input + lines.offset(number, 0) * item;
    const int64_t stride = lines.line_strides[0] * item;
    keys.each(from, stride, lines.length, [&](int64_t i, uint64_t key) {
      (*entries)[static_cast<std::size_t>(i)] = {key, i};
    });
    const int64_t at = chosen(entries);
    std::memcpy(values + lines.offset(number, 1) * item, from + at * stride,
                static_cast<std::size_t>(item));
    if (indices == nullptr) return;
    store_index(indices + lines.offset(number, 2) * index_item, index_item, &at,
                8, 1);
  }

  void operator()() const {
    parallelFor(lines.count, grainFor(lines.length, 16),
                [this](int64_t begin, int64_t end) {
                  Entries entries(static_cast<std::size_t>(lines.length));
                  for (int64_t i = begin; i < end; ++i) line(i, &entries);
                });
  }
};

Status checkOperands(const char* name, const TensorView& values,
                     const TensorView& indices, const TensorView& input,
                     int64_t* dim) {
  if (indices.defined() && !isIndexType(indices.dtype)) {
    return unsupportedDType(name, indices.dtype);
  }
  if (values.dtype != input.dtype ||
      KeyReader::of(input.dtype).load == nullptr) {
    return unsupportedDType(name, input.dtype);
  }
  if (input.ndim > kMaxDims) {
    return fail(Status::kUnsupported, "%s of %d dimensions", name, input.ndim);
  }
  return wrapDim(name, input.ndim, dim);
}

Status launchOrder(const Queue& queue, const char* name, Rank rank,
                   const TensorView& values, const TensorView& indices,
                   const TensorView& input, int64_t k, int64_t dim) {
  Status status = checkOperands(name, values, indices, input, &dim);
  if (status != Status::kOk || values.numel == 0) return status;
  const int64_t length = input.ndim == 0 ? 1 : input.sizes[dim];
  if (k < 0 || k >= length) {
    return fail(Status::kInvalid, "%s: element %lld of a line of %lld", name,
                static_cast<long long>(k + 1), static_cast<long long>(length));
  }
  LineResult kept_values;
  LineResult kept_indices;
  const TensorView to = kept_values.of(values, input, dim);
  const TensorView positions =
      indices.defined() ? kept_indices.of(indices, input, dim) : to;
  OrderTask task;
  if (!task.lines.cut({&input, &to, &positions}, dim)) {
    return fail(Status::kUnsupported, "%s of %d dimensions", name, input.ndim);
  }
  task.values = translateView<char>(queue, values);
  task.indices = translateView<char>(queue, indices);
  task.input = translateView<char>(queue, input);
  if (task.values == nullptr || task.input == nullptr ||
      (indices.defined() && task.indices == nullptr)) {
    return Status::kOk;  // enqueued as a failure
  }
  task.item = static_cast<int64_t>(itemSize(input.dtype));
  task.index_item = static_cast<int64_t>(itemSize(positions.dtype));
  task.keys = KeyReader::of(input.dtype);
  task.store_index = convertFunction(positions.dtype, DType::kInt64);
  task.rank = rank;
  task.k = k;
  return queue.launch(task) ? Status::kOk : Status::kFailed;
}

}  // namespace

Status kthValue(const Queue& queue, const TensorView& values,
                const TensorView& indices, const TensorView& input, int64_t k,
                int64_t dim) {
  return launchOrder(queue, "kthvalue", Rank::kNth, values, indices, input,
                     k - 1, dim);
}

Status median(const Queue& queue, const TensorView& values,
              const TensorView& indices, const TensorView& input, int64_t dim,
              bool ignore_nan) {
  const Rank rank = ignore_nan ? Rank::kNumberMedian : Rank::kMedian;
  return launchOrder(queue, "median", rank, values, indices, input, 0, dim);
}

Status mode(const Queue& queue, const TensorView& values,
            const TensorView& indices, const TensorView& input, int64_t dim) {
  return launchOrder(queue, "mode", Rank::kMode, values, indices, input, 0,
                     dim);
}

}  // namespace dipu::kernels
