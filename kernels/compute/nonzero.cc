// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "kernels/compute/index.h"
#include "kernels/compute/index_check.h"
#include "kernels/compute/operands.h"
#include "kernels/compute/read_back.h"

namespace dipu::kernels {
namespace {

struct CountTask {
  const bool* flags;
  int64_t elements;
  int64_t* count;
  void operator()() const {
    int64_t n = 0;
    for (int64_t i = 0; i < elements; ++i) n += flags[i] ? 1 : 0;
    *count = n;
  }
};

// Row-major positions of the flags that are set, as rows of coordinates. Rows
// that are left are filled.
struct PositionTask {
  const bool* flags;
  int64_t elements;
  int64_t* out;
  int64_t capacity;  // rows of `out`
  int64_t fill;
  int32_t ndim;
  int64_t sizes[kMaxDims];

  void operator()() const {
    int64_t row = 0;
    for (int64_t i = 0; i < elements && row < capacity; ++i) {
      if (!flags[i]) continue;
      int64_t rest = i;
      for (int32_t d = ndim - 1; d >= 0; --d) {
        out[row * ndim + d] = rest % sizes[d];
        rest /= sizes[d];
      }
      ++row;
    }
    std::fill(out + row * ndim, out + capacity * ndim, fill);
  }
};

struct SelectTask {
  const bool* flags;
  int64_t elements;
  char* out;
  const char* input;
  int64_t capacity;
  int64_t item;

  void operator()() const {
    int64_t taken = 0;
    for (int64_t i = 0; i < elements && taken < capacity; ++i) {
      if (!flags[i]) continue;
      std::memcpy(out + taken * item, input + i * item,
                  static_cast<std::size_t>(item));
      ++taken;
    }
  }
};

}  // namespace

Status countNonzero(const Queue& queue, const TensorView& input,
                    int64_t* out_count) {
  *out_count = 0;
  if (input.numel == 0) return Status::kOk;
  DenseTensor flags(queue, input, Order::kRowMajor, DType::kBool);
  void* const count = queue.scratch(sizeof(int64_t));
  if (!flags.load() || count == nullptr) return Status::kFailed;
  CountTask task;
  task.flags = flags.address<bool>();
  task.elements = input.numel;
  task.count = queue.translate<int64_t>(count, sizeof(int64_t));
  if (!queue.launch(task)) return Status::kFailed;
  return readBack(queue, out_count, count, sizeof(int64_t));
}

Status nonzero(const Queue& queue, const TensorView& out,
               const TensorView& input, int64_t fill) {
  if (out.numel == 0) return Status::kOk;
  DenseTensor flags(queue, input, Order::kRowMajor, DType::kBool);
  DenseTensor to(queue, out, Order::kRowMajor, DType::kInt64);
  if (!flags.load() || !to.open()) return Status::kFailed;
  PositionTask task;
  task.flags = flags.address<bool>();
  task.elements = input.numel;
  task.out = to.address<int64_t>();
  task.capacity = out.sizes[0];
  task.fill = fill;
  task.ndim = input.ndim;
  std::copy_n(input.sizes, input.ndim, task.sizes);
  if (!queue.launch(task)) return Status::kFailed;
  return to.store();
}

Status maskedSelect(const Queue& queue, const TensorView& out,
                    const TensorView& input, const TensorView& mask) {
  if (out.numel == 0) return Status::kOk;
  if (itemSize(input.dtype) == 0) {
    return unsupportedDType("masked_select", input.dtype);
  }
  DenseTensor flags(queue, mask, Order::kRowMajor, DType::kBool);
  DenseTensor from(queue, input, Order::kRowMajor);
  DenseTensor to(queue, out, Order::kRowMajor, input.dtype);
  if (!flags.load() || !from.load() || !to.open()) return Status::kFailed;
  SelectTask task;
  task.flags = flags.address<bool>();
  task.elements = mask.numel;
  task.out = to.address<char>();
  task.input = from.address<char>();
  task.capacity = out.numel;
  task.item = static_cast<int64_t>(itemSize(input.dtype));
  if (!queue.launch(task)) return Status::kFailed;
  return to.store();
}

}  // namespace dipu::kernels
