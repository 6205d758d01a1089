// SPDX-License-Identifier: Apache-2.0
//
// Members become rows of keys (sort_key.h), so one kernel serves all types,
// elements and slices alike.
#include "kernels/compute/unique.h"

#include <algorithm>

#include "kernels/compute/elementwise.h"
#include "kernels/compute/index_check.h"
#include "kernels/compute/operands.h"
#include "kernels/compute/read_back.h"
#include "kernels/compute/sort_key.h"

namespace dipu::kernels {
namespace {

struct UniqueTask {
  const char* input;  // dense members of `width` elements
  uint64_t* keys;
  int64_t* order;  // members, sorted
  int64_t* firsts;
  int64_t* counts;
  int64_t* inverse;  // nullptr: not wanted
  int64_t* groups;   // their number
  int64_t members;
  int64_t width;
  int64_t item;
  KeyReader reader;
  UniqueOrder sequence;

  bool less(int64_t a, int64_t b) const {
    const uint64_t* x = keys + a * width;
    const uint64_t* y = keys + b * width;
    for (int64_t i = 0; i < width; ++i) {
      if (x[i] != y[i]) return x[i] < y[i];
    }
    return a < b;
  }

  bool equal(int64_t a, int64_t b) const {
    const uint64_t* x = keys + a * width;
    const uint64_t* y = keys + b * width;
    for (int64_t i = 0; i < width; ++i) {
      if (x[i] != y[i] || reader.isNaN(x[i])) return false;
    }
    return true;
  }

  void operator()() const {
    reader.each(input, item, members * width,
                [this](int64_t i, uint64_t key) { keys[i] = key; });
    for (int64_t i = 0; i < members; ++i) order[i] = i;
    if (sequence == UniqueOrder::kSorted) {
      std::sort(order, order + members,
                [this](int64_t a, int64_t b) { return less(a, b); });
    }
    int64_t group = -1;
    for (int64_t i = 0; i < members; ++i) {
      const int64_t member = order[i];
      if (i == 0 || !equal(order[i - 1], member)) {
        firsts[++group] = member;
        counts[group] = 0;
      }
      ++counts[group];
      if (inverse != nullptr) inverse[member] = group;
    }
    *groups = group + 1;
  }
};

// `view` with dimension `dim` in front of the others.
struct FrontView {
  int64_t sizes[kMaxDims];
  int64_t strides[kMaxDims];

  TensorView of(TensorView view, int64_t dim) {
    int32_t next = 0;
    const auto append = [&](int64_t d) {
      sizes[next] = view.sizes[d];
      strides[next++] = view.strides[d];
    };
    append(dim);
    for (int32_t d = 0; d < view.ndim; ++d) {
      if (d != dim) append(d);
    }
    view.sizes = sizes;
    view.strides = strides;
    return view;
  }
};

// Vectors of scratch memory, one after the other.
class Vectors {
 public:
  Vectors(const Queue& queue, int64_t words)
      : data_(static_cast<char*>(queue.scratch(size(words)))),
        address_(data_ == nullptr
                     ? nullptr
                     : queue.translate<int64_t>(data_, size(words))) {}

  bool valid() const { return address_ != nullptr; }
  // The worker's address of the next vector of `words` elements; its device
  // address goes to `data`.
  int64_t* next(int64_t words, void** data) {
    if (data != nullptr) *data = data_ + used_ * kWord;
    int64_t* const result = address_ + used_;
    used_ += words;
    return result;
  }

 private:
  static constexpr int64_t kWord = sizeof(int64_t);
  static std::size_t size(int64_t words) {
    return static_cast<std::size_t>(words * kWord);
  }

  char* data_;
  int64_t* address_;
  int64_t used_ = 0;
};

TensorView vectorView(void* data, const UniqueGroups& groups) {
  TensorView view;
  view.data = data;
  view.sizes = &groups.count;
  view.strides = &groups.stride;
  view.numel = groups.count;
  view.ndim = 1;
  view.dtype = DType::kInt64;
  return view;
}

Status findGroups(const Queue& queue, UniqueTask task, UniqueGroups* groups) {
  Vectors vectors(queue, 3 * task.members + task.members * task.width + 1);
  if (!vectors.valid()) return Status::kFailed;
  void* firsts = nullptr;
  void* counts = nullptr;
  void* number = nullptr;
  task.firsts = vectors.next(task.members, &firsts);
  task.counts = vectors.next(task.members, &counts);
  task.order = vectors.next(task.members, nullptr);
  task.groups = vectors.next(1, &number);
  task.keys = reinterpret_cast<uint64_t*>(
      vectors.next(task.members * task.width, nullptr));
  if (!queue.launch(task)) return Status::kFailed;
  const Status status =
      readBack(queue, &groups->count, number, sizeof(int64_t));
  groups->firsts = vectorView(firsts, *groups);
  groups->counts = vectorView(counts, *groups);
  return status;
}

}  // namespace

Status unique(const Queue& queue, const TensorView& input, const int64_t* dim,
              UniqueOrder order, const TensorView& inverse,
              UniqueGroups* groups) {
  UniqueTask task;
  task.reader = KeyReader::of(input.dtype);
  if (task.reader.load == nullptr) {
    return unsupportedDType("unique", input.dtype);
  }
  if (input.ndim > kMaxDims) {
    return fail(Status::kUnsupported, "unique of %d dimensions", input.ndim);
  }
  FrontView front;
  TensorView members = input;
  task.members = input.numel;
  if (dim != nullptr && input.ndim > 0) {
    int64_t along = *dim;
    const Status status = wrapDim("unique", input.ndim, &along);
    if (status != Status::kOk) return status;
    members = front.of(input, along);
    task.members = members.sizes[0];
  }
  groups->firsts = groups->counts = vectorView(nullptr, *groups);
  if (input.numel == 0) return Status::kOk;
  DenseTensor from(queue, members, Order::kRowMajor);
  DenseTensor to(queue, inverse, Order::kRowMajor, DType::kInt64);
  if (!from.load() || !to.open()) return Status::kFailed;
  task.input = from.address<char>();
  task.inverse = to.address<int64_t>();  // nullptr: not wanted
  task.width = input.numel / task.members;
  task.item = static_cast<int64_t>(itemSize(input.dtype));
  task.sequence = order;
  const Status status = findGroups(queue, task, groups);
  return status == Status::kOk ? to.store() : status;
}

}  // namespace dipu::kernels
