// SPDX-License-Identifier: Apache-2.0
//
// The form in which an elementwise kernel over operands of any strides and
// dtypes waits in a stream.
#pragma once

#include <cstdint>

#include "kernels/compute/elementwise.h"

namespace dipu::kernels {

// The general case. Only the used part of `words` is enqueued.
struct StridedTask {
  DenseLoop loop;
  alignas(8) unsigned char op[kMaxOpBytes];
  uint8_t tensor_types[kMaxOperands] = {};
  uint8_t loop_types[kMaxOperands];
  uint8_t operands;
  uint8_t outputs;
  uint8_t ndim;
  bool update;
  int32_t cost;
  int64_t chunk;  // elements of a row that are done at a time
  // Addresses, then sizes, then the strides of dimension 0, 1, ...
  int64_t words[kMaxOperands + kMaxDims * (1 + kMaxOperands)];

  int usedWords() const { return operands + ndim * (1 + operands); }
  char* address(int k) const { return reinterpret_cast<char*>(words[k]); }
  int64_t size(int dim) const { return dim < ndim ? words[operands + dim] : 1; }
  int64_t stride(int dim, int k) const {
    return dim < ndim ? words[operands + ndim + dim * operands + k] : 0;
  }
  // Runs the kernel with the device's thread team.
  void operator()() const;
};

}  // namespace dipu::kernels
