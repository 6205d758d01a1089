// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "kernels/compute/flat_index.h"
#include "kernels/compute/index_check.h"
#include "kernels/compute/operands.h"
#include "kernels/compute/parallel.h"
#include "kernels/compute/read_back.h"
#include "kernels/compute/refusal.h"

namespace dipu::kernels {
namespace {

// The sum, or -1 if a repeat is negative.
int64_t sumOf(const int64_t* repeats, int64_t count) {
  int64_t sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (repeats[i] < 0) return -1;
    sum += repeats[i];
  }
  return sum;
}

struct SumTask {
  const int64_t* repeats;
  int64_t count;
  int64_t* sum;
  void operator()() const { *sum = sumOf(repeats, count); }
};

struct RepeatTask {
  int64_t* out;
  const int64_t* repeats;
  int64_t count;
  int64_t expected;

  void operator()() const {
    const int64_t sum = sumOf(repeats, count);
    if (sum != expected) {
      return refuse(
          "%s, the output has %lld elements",
          sum < 0 ? "a repeat is negative" : "the repeats have another sum",
          static_cast<long long>(expected));
    }
    int64_t* to = out;
    for (int64_t i = 0; i < count; ++i) to = std::fill_n(to, repeats[i], i);
  }
};

Status checkRepeats(const TensorView& repeats) {
  if (!isIndexType(repeats.dtype)) {
    return unsupportedDType("repeat_interleave", repeats.dtype);
  }
  if (repeats.ndim != 1) {
    return fail(Status::kInvalid,
                "repeat_interleave only accepts 1D vector as repeat");
  }
  return Status::kOk;
}

}  // namespace

Status sumRepeats(const Queue& queue, const TensorView& repeats,
                  int64_t* out_sum) {
  *out_sum = 0;
  Status status = checkRepeats(repeats);
  if (status != Status::kOk || repeats.numel == 0) return status;
  DenseTensor from(queue, repeats, Order::kRowMajor, DType::kInt64);
  void* const sum = queue.scratch(sizeof(int64_t));
  if (!from.load() || sum == nullptr) return Status::kFailed;
  const SumTask task{from.address<int64_t>(), repeats.numel,
                     queue.translate<int64_t>(sum, sizeof(int64_t))};
  if (!queue.launch(task)) return Status::kFailed;
  status = readBack(queue, out_sum, sum, sizeof(int64_t));
  if (status == Status::kOk && *out_sum < 0) {
    return fail(Status::kInvalid, "repeats can not be negative");
  }
  return status;
}

Status repeatInterleave(const Queue& queue, const TensorView& out,
                        const TensorView& repeats) {
  const Status status = checkRepeats(repeats);
  if (status != Status::kOk) return status;
  DenseTensor to(queue, out, Order::kRowMajor, DType::kInt64);
  DenseTensor from(queue, repeats, Order::kRowMajor, DType::kInt64);
  if (!to.open() || !from.load()) return Status::kFailed;
  const RepeatTask task{to.address<int64_t>(), from.address<int64_t>(),
                        repeats.numel, out.numel};
  return queue.launch(task) ? to.store() : Status::kFailed;
}

}  // namespace dipu::kernels
