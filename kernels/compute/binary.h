// SPDX-License-Identifier: Apache-2.0
//
// Elementwise functions of two tensors. Inputs broadcast to the output, which
// may be one of them; operands may differ in dtype and are computed in the
// type that holds them all. Each call enqueues and returns.
//
// Note [Integer division by zero]
// PyTorch raises for it on the CPU. Work that is already enqueued cannot
// raise, so the result is 0 and the device's error becomes sticky: the next
// synchronisation reports it with the operator's name.
#pragma once

#include "kernels/compute/queue.h"
#include "kernels/compute/status.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

// Numbered like diopiRoundMode_t.
enum class RoundMode : int32_t { kNone = 0, kTrunc = 1, kFloor = 2 };

// out = a + alpha b and out = a - alpha b.
Status add(const Queue& queue, const TensorView& out, const TensorView& a,
           const TensorView& b, const Scalar& alpha);
Status sub(const Queue& queue, const TensorView& out, const TensorView& a,
           const TensorView& b, const Scalar& alpha);
Status mul(const Queue& queue, const TensorView& out, const TensorView& a,
           const TensorView& b);

// kNone needs a floating output. See Note [Integer division by zero].
Status div(const Queue& queue, const TensorView& out, const TensorView& a,
           const TensorView& b, RoundMode mode);
// The sign is that of the divisor. See Note [Integer division by zero].
Status remainder(const Queue& queue, const TensorView& out, const TensorView& a,
                 const TensorView& b);
// Integers to a negative power are 0 unless the base is 1 or -1.
Status pow(const Queue& queue, const TensorView& out, const TensorView& a,
           const TensorView& b);
// NaN in either operand gives NaN.
Status maximum(const Queue& queue, const TensorView& out, const TensorView& a,
               const TensorView& b);
Status minimum(const Queue& queue, const TensorView& out, const TensorView& a,
               const TensorView& b);

// The larger and the smaller operand; NaN only where both are NaN.
Status fmax(const Queue& queue, const TensorView& out, const TensorView& a,
            const TensorView& b);
Status fmin(const Queue& queue, const TensorView& out, const TensorView& a,
            const TensorView& b);
// 0 below 0, 1 above, and `values` at 0.
Status heaviside(const Queue& queue, const TensorView& out,
                 const TensorView& input, const TensorView& values);
// The sign is that of the dividend. See Note [Integer division by zero].
Status fmod(const Queue& queue, const TensorView& out, const TensorView& a,
            const TensorView& b);

// Integers. The greatest common divisor and the least common multiple are not
// negative unless they overflow.
Status gcd(const Queue& queue, const TensorView& out, const TensorView& a,
           const TensorView& b);
Status lcm(const Queue& queue, const TensorView& out, const TensorView& a,
           const TensorView& b);
// Shifts by a negative count, or by the width and more, give what an endless
// shift gives: 0, or -1 where a negative number moves right.
Status shiftLeft(const Queue& queue, const TensorView& out, const TensorView& a,
                 const TensorView& b);
Status shiftRight(const Queue& queue, const TensorView& out,
                  const TensorView& a, const TensorView& b);

// As above with a number as second operand.
Status addScalar(const Queue& queue, const TensorView& out, const TensorView& a,
                 const Scalar& b, const Scalar& alpha);
Status subScalar(const Queue& queue, const TensorView& out, const TensorView& a,
                 const Scalar& b, const Scalar& alpha);
Status mulScalar(const Queue& queue, const TensorView& out, const TensorView& a,
                 const Scalar& b);
Status divScalar(const Queue& queue, const TensorView& out, const TensorView& a,
                 const Scalar& b, RoundMode mode);
Status remainderScalar(const Queue& queue, const TensorView& out,
                       const TensorView& a, const Scalar& b);
Status fmodScalar(const Queue& queue, const TensorView& out,
                  const TensorView& a, const Scalar& b);
Status powScalar(const Queue& queue, const TensorView& out, const TensorView& a,
                 const Scalar& exponent);
// With a number as first operand.
Status scalarPow(const Queue& queue, const TensorView& out, const Scalar& base,
                 const TensorView& exponent);
Status scalarRemainder(const Queue& queue, const TensorView& out,
                       const Scalar& a, const TensorView& b);

// The result is bool, converted to the type of the output.
enum class CompareOp : int32_t { kEq, kNe, kLt, kLe, kGt, kGe };
Status compare(const Queue& queue, CompareOp op, const TensorView& out,
               const TensorView& a, const TensorView& b);
Status compareScalar(const Queue& queue, CompareOp op, const TensorView& out,
                     const TensorView& a, const Scalar& b);

// Operands are compared with zero first.
enum class LogicalOp : int32_t { kAnd, kOr, kXor };
Status logical(const Queue& queue, LogicalOp op, const TensorView& out,
               const TensorView& a, const TensorView& b);

// Integers and bool.
Status bitwise(const Queue& queue, LogicalOp op, const TensorView& out,
               const TensorView& a, const TensorView& b);
Status bitwiseScalar(const Queue& queue, LogicalOp op, const TensorView& out,
                     const TensorView& a, const Scalar& b);

}  // namespace dipu::kernels
