// SPDX-License-Identifier: Apache-2.0
//
// One kernel for all types: elements become unsigned keys in the same order.
#include "kernels/compute/sort.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/compute/convert.h"
#include "kernels/compute/dtype.h"
#include "kernels/compute/elementwise.h"
#include "kernels/compute/index_check.h"
#include "kernels/compute/lines.h"
#include "kernels/compute/operands.h"
#include "kernels/compute/parallel.h"

namespace dipu::kernels {
namespace {

constexpr uint64_t kSign = uint64_t{1} << 63;

// Positive numbers get the sign bit, negative ones are inverted.
uint64_t keyOf(double x) {
  if (x != x) return std::numeric_limits<uint64_t>::max();
  const auto bits = bitCast<uint64_t>(x + 0.0);  // -0 becomes 0
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}
uint64_t keyOf(int64_t x) { return static_cast<uint64_t>(x) ^ kSign; }

struct Entry {
  uint64_t key;
  int64_t index;
  bool operator<(const Entry& other) const {
    return key != other.key ? key < other.key : index < other.index;
  }
};

struct SortTask {
  char* values;  // nullptr if not wanted
  char* indices;
  const char* input;
  Lines<3> lines;  // of the input, the values and the indices
  int64_t item;    // bytes of an element
  int64_t index_item;
  Convert load;  // to double or int64
  Convert store_index;
  int64_t kept;  // elements of a line of the results
  bool floating;
  bool descending;

  void loadKeys(const char* line, std::vector<Entry>* entries) const {
    constexpr int64_t kBlock = 256;
    const int64_t stride = lines.line_strides[0] * item;
    double reals[kBlock];
    int64_t integers[kBlock];
    for (int64_t done = 0; done < lines.length; done += kBlock) {
      const int64_t count = std::min(kBlock, lines.length - done);
      void* block = floating ? static_cast<void*>(reals) : integers;
      load(block, 8, line + done * stride, stride, count);
      for (int64_t i = 0; i < count; ++i) {
        const uint64_t key = floating ? keyOf(reals[i]) : keyOf(integers[i]);
        (*entries)[static_cast<std::size_t>(done + i)] = {
            descending ? ~key : key, done + i};
      }
    }
  }

  void storeLine(int64_t number, const char* line,
                 const std::vector<Entry>& entries) const {
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
    parallelFor(
        lines.count, grainFor(lines.length, 64),
        [this](int64_t begin, int64_t end) {
          std::vector<Entry> entries(static_cast<std::size_t>(lines.length));
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
  task.floating = isFloating(input.dtype);
  const DType wide = task.floating ? DType::kFloat64 : DType::kInt64;
  task.load = convertFunction(wide, input.dtype);
  if (task.load == nullptr || input.dtype == DType::kUInt64) {
    return unsupportedDType("sort", input.dtype);
  }
  task.store_index = convertFunction(indices.dtype, DType::kInt64);
  task.item = static_cast<int64_t>(itemSize(input.dtype));
  task.index_item = static_cast<int64_t>(itemSize(indices.dtype));
  task.kept = k;
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
