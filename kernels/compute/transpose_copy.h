// SPDX-License-Identifier: Apache-2.0
//
// Copies between layouts whose innermost dimensions differ.
#pragma once

#include <cstdint>

#include "kernels/compute/domain.h"
#include "kernels/compute/elementwise.h"

namespace dipu::kernels {

// Note [Transposed copies]
// The result is dense along one dimension, the input along another. An element
// at a time, one side would touch a new cache line each time. So square tiles
// are copied whose sides are one line long: a tile reads whole lines into a
// small buffer and writes whole lines out of it.
struct TransposeTask {
  using Tile = void (*)(char* out, int64_t out_stride, const char* input,
                        int64_t input_stride, int64_t rows, int64_t columns);

  // A further dimension; strides in bytes.
  struct Outer {
    int64_t size;
    int64_t out;
    int64_t input;
  };

  char* out;
  const char* input;
  int64_t item;  // bytes of an element
  int64_t side;  // elements of a tile's side
  Tile tile;
  int64_t rows;           // dense in the input
  int64_t columns;        // dense in the result
  int64_t row_stride;     // of the result, in bytes
  int64_t column_stride;  // of the input, in bytes
  int32_t ndim;           // of the dimensions below
  Outer outer[kMaxDims];  // only the used part is enqueued

  // Runs the copy with the device's thread team.
  void operator()() const;
};

// Whether `domain`, of a result and an input of elements of `item` bytes each,
// is a transposed copy: dimension 0 is dense in the result and dimension 1 in
// the input.
bool isTransposed(const Domain& domain, int64_t item);

// Enqueues the copy; `out` and `input` are translated addresses.
Status launchTransposed(const Queue& queue, const Domain& domain, int64_t item,
                        char* out, const char* input);

}  // namespace dipu::kernels
