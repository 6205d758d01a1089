// SPDX-License-Identifier: Apache-2.0
//
// Tensors as rows that are normalized one by one, and the sums over rows that
// are the gradients of weight and bias.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/compute/operands.h"

namespace dipu::kernels {

struct NormalizedRows {
  int64_t count = 1;
  int64_t length = 1;
};

// A row is the last `dims` dimensions. `name` is for the message.
inline Status readRows(const char* name, const TensorView& input, int64_t dims,
                       NormalizedRows* rows) {
  if (dims < 1 || dims > input.ndim) {
    return fail(Status::kInvalid, "%s: %ld normalized dimensions of %d", name,
                long(dims), input.ndim);
  }
  for (int32_t i = 0; i < input.ndim; ++i) {
    (i >= input.ndim - dims ? rows->length : rows->count) *= input.sizes[i];
  }
  return Status::kOk;
}

// Gradients of weight and bias are summed over fixed blocks of rows first.
inline int64_t blocksOf(const NormalizedRows& rows) {
  return std::clamp<int64_t>(rows.count / 8, 1, 16);
}

// Room for the sums of all blocks, two lines each; nullptr: there is none.
inline void* blockSums(const Queue& queue, const NormalizedRows& rows,
                       DType compute) {
  return scratchAddress(queue, blocksOf(rows) * 2 * rows.length *
                                   static_cast<int64_t>(itemSize(compute)));
}

// Adds up the sums of all blocks: of their first lines with offset 0, of their
// second ones with offset n.
template <typename C>
void combineBlocks(const C* sums, int64_t blocks, int64_t n, int64_t offset,
                   C* to) {
  for (int64_t i = 0; to != nullptr && i < n; ++i) {
    double sum = 0;
    for (int64_t b = 0; b < blocks; ++b) {
      sum += static_cast<double>(sums[b * 2 * n + offset + i]);
    }
    to[i] = static_cast<C>(sum);
  }
}

}  // namespace dipu::kernels
