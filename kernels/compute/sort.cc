// SPDX-License-Identifier: Apache-2.0
//
// One kernel for all types: elements become unsigned keys in the same order.
#include "kernels/compute/sort.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/compute/convert.h"
#include "kernels/compute/dtype.h"
#include "kernels/compute/elementwise.h"
#include "kernels/compute/index_check.h"
#include "kernels/compute/lines.h"
#include "kernels/compute/operands.h"
#include "kernels/compute/parallel.h"
#include "kernels/compute/sort_key.h"
#include "kernels/compute/sort_line.h"

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
  void loadKeys(const char* line, std::vector<PackedEntry>* entries) const {
    keys.eachShort(line, lines.line_strides[0] * item, lines.length,
                   [&](int64_t i, uint32_t key) {
                     (*entries)[static_cast<std::size_t>(i)] =
                         packEntry(descending ? ~key : key, i);
                   });
  }

  template <typename Entry>
  void storeIndices(char* to, const Entry* entries) const {
    constexpr int64_t kBlock = 256;
    const int64_t stride = lines.line_strides[2] * index_item;
    int64_t block[kBlock];
    for (int64_t done = 0; done < kept; done += kBlock) {
      const int64_t some = std::min(kBlock, kept - done);
      for (int64_t i = 0; i < some; ++i) block[i] = indexOf(entries[done + i]);
      store_index(to + done * stride, stride, block, 8, some);
    }
  }

  // `Bits` has the size of an element.
  template <typename Bits, typename Entry>
  void storeValues(char* to, const char* line, const Entry* entries) const {
    const int64_t stride = lines.line_strides[1];
    const int64_t line_stride = lines.line_strides[0];
    for (int64_t i = 0; i < kept; ++i) {
      reinterpret_cast<Bits*>(to)[i * stride] = reinterpret_cast<const Bits*>(
          line)[indexOf(entries[i]) * line_stride];
    }
  }

  template <typename Entry>
  void storeLine(int64_t number, const char* line, const Entry* entries) const {
    storeIndices(indices + lines.offset(number, 2) * index_item, entries);
    if (values == nullptr) return;
    char* to = values + lines.offset(number, 1) * item;
    switch (item) {
      case 1:
        return storeValues<uint8_t>(to, line, entries);
      case 2:
        return storeValues<uint16_t>(to, line, entries);
      case 4:
        return storeValues<uint32_t>(to, line, entries);
      default:
        return storeValues<uint64_t>(to, line, entries);
    }
  }

  template <typename Entry>
  void sortLines(int64_t begin, int64_t end) const {
    std::vector<Entry> entries(static_cast<std::size_t>(lines.length));
    std::vector<Entry> scratch(entries.size());
    for (int64_t i = begin; i < end; ++i) {
      const char* line = input + lines.offset(i, 0) * item;
      loadKeys(line, &entries);
      if (kept == lines.length) {
        sortLine(&entries, &scratch);
      } else {
        std::partial_sort(entries.begin(), entries.begin() + kept,
                          entries.end());
      }
      storeLine(i, line, entries.data());
    }
  }

  void operator()() const {
    const bool packed = keys.is_short && lines.length <= int64_t{1} << 32;
    parallelFor(lines.count, grainFor(lines.length, 64),
                [this, packed](int64_t begin, int64_t end) {
                  packed ? sortLines<PackedEntry>(begin, end)
                         : sortLines<SortEntry>(begin, end);
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
