// SPDX-License-Identifier: Apache-2.0
//
// Elementwise functions of one tensor.
#pragma once

#include "kernels/compute/queue.h"
#include "kernels/compute/status.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

enum class UnaryOp : int32_t {
  // Functions of real numbers: computed in float32 or float64. An integer
  // input needs a floating output.
  kExp,
  kExpm1,
  kLog,
  kLog2,
  kLog10,
  kLog1p,
  kSqrt,
  kRsqrt,
  kReciprocal,
  kSin,
  kCos,
  kTan,
  kAsin,
  kAcos,
  kAtan,
  kSinh,
  kCosh,
  kTanh,
  kAsinh,
  kAcosh,
  kAtanh,
  kSigmoid,
  kErf,
  kErfinv,
  // Any type; integers stay integers and wrap.
  kNeg,
  kAbs,
  kSign,
  kFloor,
  kCeil,
  kRelu,
  // Integers and bool.
  kBitwiseNot,
  // Any input; the result is bool, converted to the type of the output.
  kLogicalNot,
  kIsNan,
};

// Enqueues out = op(input), broadcasting the input. `out` may be the input.
Status unary(const Queue& queue, UnaryOp op, const TensorView& out,
             const TensorView& input);

// The functions from kExp to kErfinv; unary() calls it.
Status unaryReal(const Queue& queue, UnaryOp op, const TensorView& out,
                 const TensorView& input);

}  // namespace dipu::kernels
