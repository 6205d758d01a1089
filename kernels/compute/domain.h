// SPDX-License-Identifier: Apache-2.0
//
// The common iteration space of the operands of an elementwise kernel.
#pragma once

#include <cstdint>

#include "kernels/compute/elementwise.h"

namespace dipu::kernels {

// Dimension 0 is the innermost. Strides are in bytes; broadcast is 0.
struct Domain {
  int32_t ndim = 0;
  int32_t operands = 0;
  int64_t sizes[kMaxDims] = {};
  int64_t strides[kMaxDims][kMaxOperands] = {};
};

// Broadcasts the operands to the first one, leaves out dimensions of size 1,
// orders dimensions by the strides of the first operand and joins those that
// lie behind each other in all operands. There is at least one dimension.
Status buildDomain(const TensorView* const* views, int32_t operands,
                   int32_t outputs, Domain* domain);

}  // namespace dipu::kernels
