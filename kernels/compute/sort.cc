// SPDX-License-Identifier: Apache-2.0
//
// One kernel for all types: elements become unsigned keys in the same order.
#include "kernels/compute/sort.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/compute/convert.h"
#include "kernels/compute/dtype.h"
#include "kernels/compute/elementwise.h"
#include "kernels/compute/index_check.h"
#include "kernels/compute/lines.h"
#include "kernels/compute/operands.h"
#include "kernels/compute/parallel.h"
#include "kernels/compute/sort_key.h"

namespace dipu::kernels {
namespace {

struct SortTask {
  char* values;  // nullptr if not wanted
  char* indices;
  const char* input;
  Lines<3> lines;  // of the input, the values and the indices
  int64_t item;    // bytes of an element
  int64_t index_item;
  KeyReader keys;
  Convert store_index;
  int64_t kept;  // elements of a line of the results
  bool descending;

  void loadKeys(const char* line, std::vector<SortEntry>* entries) const {
    keys.each(line, lines.line_strides[0] * item, lines.length,
              [&](int64_t i, uint64_t key) {
                (*entries)[static_cast<std::size_t>(i)] = {
                    descending ? ~key : key, i};
              });
  }

  void storeLine(int64_t number, const char* line,
                 const std::vector<SortEntry>& entries) const {
    const int64_t stride = lines.line_strides[0] * item;
    char* to = indices + lines.offset(number, 2) * index_item;
    for (int64_t i = 0; i < kept; ++i) {
      const int64_t& at = entries[static_cast<std::size_t>(i)].index;
      store_index(to + i * lines.line_strides[2] * index_item, index_item, &at,
                  8, 1);
    }
    if (values == nullptr) return;
    to = values + lines.offset(number, 1) * item;
    for (int64_t i = 0; i < kept; ++i) {
      const int64_t at = entries[static_cast<std::size_t>(i)].index;
      std::memcpy(to + i * lines.line_strides[1] * item, line + at * stride,
                  static_cast<std::size_t>(item));
    }
  }

  void operator()() const {
    parallelFor(lines.count, grainFor(lines.length, 64),
                [this](int64_t begin, int64_t end) {
                  std::vector<SortEntry> entries(
                      static_cast<std::size_t>(lines.length));
                  for (int64_t i = begin; i < end; ++i) {
                    const char* line = input + lines.offset(i, 0) * item;
                    loadKeys(line, &entries);
                    if (kept == lines.length) {
                      std::sort(entries.begin(), entries.end());
                    } else {
                      std::partial_sort(entries.begin(), entries.begin() + kept,
                                        entries.end());
                    }
                    storeLine(i, line, entries);
                  }
                });
  }
};

Status launchSort(const Queue& queue, const TensorView& values,
                  const TensorView& indices, const TensorView& input, int64_t k,
                  int64_t dim, bool descending) {
  if (!isIndexType(indices.dtype))
    return unsupportedDType("sort", indices.dtype);
  if (values.defined() && values.dtype != input.dtype) {
    return unsupportedDType("sort", values.dtype);
  }
  Status status = wrapDim("sort", input.ndim, &dim);
  if (status != Status::kOk) return status;
  const int64_t length = input.ndim == 0 ? 1 : input.sizes[dim];
  if (k < 0 || k > length) {
    return fail(Status::kInvalid, "topk: k = %lld of %lld elements",
                static_cast<long long>(k), static_cast<long long>(length));
  }
  if (indices.numel == 0) return Status::kOk;
  SortTask task;
  const TensorView& second = values.defined() ? values : indices;
  const TensorView* views[3] = {&input, &second, &indices};
  if (!task.lines.cut(views, dim)) {
    return fail(Status::kUnsupported, "sort of %d dimensions", input.ndim);
  }
  task.keys = KeyReader::of(input.dtype);
  if (task.keys.load == nullptr) return unsupportedDType("sort", input.dtype);
  task.store_index = convertFunction(indices.dtype, DType::kInt64);
  task.item = static_cast<int64_t>(itemSize(input.dtype));
  task.index_item = static_cast<int64_t>(itemSize(indices.dtype));
  // A number has no dimension to shorten: it is its own result for k = 0 too.
  task.kept = input.ndim == 0 ? 1 : k;
  task.descending = descending;
  task.values = translateView<char>(queue, values);
  task.indices = translateView<char>(queue, indices);
  task.input = translateView<char>(queue, input);
  if (task.indices == nullptr || task.input == nullptr ||
      (values.defined() && task.values == nullptr)) {
    return Status::kOk;  // enqueued as a failure
  }
  return queue.launch(task) ? Status::kOk : Status::kFailed;
}

}  // namespace

Status sort(const Queue& queue, const TensorView& values,
            const TensorView& indices, const TensorView& input, int64_t dim,
            bool descending) {
  const int32_t ndim = input.ndim == 0 ? 1 : input.ndim;
  const int64_t own = dim < 0 ? dim + ndim : dim;
  const bool valid = own >= 0 && own < input.ndim;
  const int64_t length = valid ? input.sizes[own] : 1;
  return launchSort(queue, values, indices, input, length, dim, descending);
}

Status topk(const Queue& queue, const TensorView& values,
            const TensorView& indices, const TensorView& input, int64_t k,
            int64_t dim, bool largest) {
  return launchSort(queue, values, indices, input, k, dim, largest);
}

}  // namespace dipu::kernels
