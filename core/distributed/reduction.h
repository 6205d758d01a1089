// SPDX-License-Identifier: Apache-2.0
//
// Which way a reduction goes with what the vendor has.
//
// Note [Composed reductions]
// A vendor's collectives reduce few element types by few operations; PyTorch
// wants more. What is missing is composed of what is there:
//   bool            as uint8: sum, maximum and "or" are the maximum, product,
//                   minimum and "and" the minimum
//   complex         as pairs of reals, where the operation allows that
//   average         the sum, then a division on the same stream
//   premultiplied   a product on the same stream, then the sum
//   anything else   each rank receives its part of every rank's tensor, the
//                   device's own operators combine them in the order of ranks
//                   (16-bit floating-point numbers in float32), and the parts
//                   are gathered: any type and operation that the device
//                   computes, with the same bits on all ranks
// What has no meaning, such as the bits of floating-point numbers, is refused.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>

#include <torch/csrc/distributed/c10d/Types.hpp>

#include "core/abi/communicator.h"

namespace dipu::distributed {

struct Reduction {
  c10d::ReduceOp op;
  // What elements are looked at as; has the same bytes as the tensor's type,
  // except that two of it make a complex number.
  c10::ScalarType type;
  // Whether the vendor reduces by `vendor_op`, or parts have to be combined.
  bool is_native = false;
  dipu_reduce_op vendor_op = DIPU_REDUCE_SUM;
  bool multiply_first = false;
  bool divide_last = false;
};

// Throws who cannot reduce what by which operation, and what to do.
Reduction planReduction(const c10d::ReduceOp& op, c10::ScalarType type);

// `tensor`, contiguous, as the elements of `reduction`; shares its memory.
at::Tensor viewFor(const Reduction& reduction, const at::Tensor& tensor);

// Before the ranks' values meet: `tensor` itself, or a product on the current
// stream.
at::Tensor multiplied(const Reduction& reduction, const at::Tensor& tensor);

// Combines `parts` ([ranks, n]) into one row, on the current stream.
at::Tensor combined(const Reduction& reduction, const at::Tensor& parts);

// After they have met: divides by the number of ranks if there is need.
void finishReduction(const Reduction& reduction, at::Tensor& result, int size);

// Such as "PREMUL_SUM".
const char* nameOf(c10d::ReduceOp::RedOpType op);

}  // namespace dipu::distributed
