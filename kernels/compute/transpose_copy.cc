// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/transpose_copy.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "kernels/compute/parallel.h"

namespace dipu::kernels {
namespace {

constexpr int64_t kLine = 64;  // bytes of a cache line

template <typename T>
void copyTile(char* out, int64_t out_stride, const char* input,
              int64_t input_stride, int64_t rows, int64_t columns) {
  constexpr int64_t kSide = kLine / int64_t{sizeof(T)};
  alignas(kLine) T buffer[kSide][kSide];
  for (int64_t c = 0; c < columns; ++c) {
    const T* const from = reinterpret_cast<const T*>(input + c * input_stride);
    for (int64_t r = 0; r < rows; ++r) buffer[r][c] = from[r];
  }
  for (int64_t r = 0; r < rows; ++r) {
    std::memcpy(out + r * out_stride, buffer[r],
                static_cast<std::size_t>(columns) * sizeof(T));
  }
}

TransposeTask::Tile tileOf(int64_t item) {
  switch (item) {
    case 1:
      return copyTile<uint8_t>;
    case 2:
      return copyTile<uint16_t>;
    case 4:
      return copyTile<uint32_t>;
    case 8:
      return copyTile<uint64_t>;
    default:
      return nullptr;
  }
}

}  // namespace

void TransposeTask::operator()() const {
  const int64_t down = (rows + side - 1) / side;
  const int64_t across = (columns + side - 1) / side;
  int64_t tiles = down * across;
  for (int32_t dim = 0; dim < ndim; ++dim) tiles *= outer[dim].size;
  parallelFor(tiles, grainFor(side * side), [&](int64_t begin, int64_t end) {
    for (int64_t number = begin; number < end; ++number) {
      int64_t rest = number;
      const int64_t row = rest % down * side;
      rest /= down;
      const int64_t column = rest % across * side;
      rest /= across;
      char* to = out + row * row_stride + column * item;
      const char* from = input + row * item + column * column_stride;
      for (int32_t dim = 0; dim < ndim; ++dim) {
        const int64_t at = rest % outer[dim].size;
        rest /= outer[dim].size;
        to += at * outer[dim].out;
        from += at * outer[dim].input;
      }
      tile(to, row_stride, from, column_stride, std::min(side, rows - row),
           std::min(side, columns - column));
    }
  });
}

bool isTransposed(const Domain& domain, int64_t item) {
  return domain.ndim >= 2 && domain.strides[0][0] == item &&
         domain.strides[1][1] == item && tileOf(item) != nullptr;
}

Status launchTransposed(const Queue& queue, const Domain& domain, int64_t item,
                        char* out, const char* input) {
  TransposeTask task;
  task.out = out;
  task.input = input;
  task.item = item;
  task.side = kLine / item;
  task.tile = tileOf(item);
  task.rows = domain.sizes[1];
  task.columns = domain.sizes[0];
  task.row_stride = domain.strides[1][0];
  task.column_stride = domain.strides[0][1];
  task.ndim = domain.ndim - 2;
  for (int32_t dim = 0; dim < task.ndim; ++dim) {
    const int64_t* const strides = domain.strides[dim + 2];
    task.outer[dim] = {domain.sizes[dim + 2], strides[0], strides[1]};
  }
  const std::size_t bytes =
      offsetof(TransposeTask, outer) +
      static_cast<std::size_t>(task.ndim) * sizeof(TransposeTask::Outer);
  return queue.launchPrefix(task, bytes) ? Status::kOk : Status::kFailed;
}

}  // namespace dipu::kernels
