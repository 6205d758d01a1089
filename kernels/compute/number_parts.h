// SPDX-License-Identifier: Apache-2.0
//
// Elementwise functions that round numbers, or look at their sign, fraction
// or exponent. Inputs broadcast to the output, which may be one of them; every
// call enqueues and returns.
#pragma once

#include <cstdint>

#include "kernels/compute/queue.h"
#include "kernels/compute/status.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

// To the nearest whole number, halves to the even one. Integers stay as they
// are.
Status round(const Queue& queue, const TensorView& out,
             const TensorView& input);
// To a multiple of 10^-decimals; `decimals` may be negative. Floating types.
Status roundDecimals(const Queue& queue, const TensorView& out,
                     const TensorView& input, int64_t decimals);
// Towards zero. Integers stay as they are.
Status trunc(const Queue& queue, const TensorView& out,
             const TensorView& input);
// What trunc leaves out. Floating types.
Status frac(const Queue& queue, const TensorView& out, const TensorView& input);

// The angle of a real number in the complex plane: pi below 0, otherwise 0;
// NaN stays. The output is floating.
Status angle(const Queue& queue, const TensorView& out,
             const TensorView& input);
// Whether the sign is negative, that of -0.0 and NaN included. The result is
// bool, converted to the type of the output.
Status signbit(const Queue& queue, const TensorView& out,
               const TensorView& input);
// The magnitude of `a` with the sign of `b`. The output is floating.
Status copysign(const Queue& queue, const TensorView& out, const TensorView& a,
                const TensorView& b);
Status copysignScalar(const Queue& queue, const TensorView& out,
                      const TensorView& a, const Scalar& b);

// input = mantissa * 2^exponent with 0.5 <= |mantissa| < 1. Floating types;
// `exponent` is int32.
Status frexp(const Queue& queue, const TensorView& mantissa,
             const TensorView& exponent, const TensorView& input);
// The number next to `a` towards `b`, of the type of the output.
Status nextafter(const Queue& queue, const TensorView& out, const TensorView& a,
                 const TensorView& b);

// Replaces NaN and the infinities, by 0 and the largest finite numbers of the
// output's type where the pointer is nullptr. Integers stay as they are.
Status nanToNum(const Queue& queue, const TensorView& out,
                const TensorView& input, const double* nan,
                const double* positive, const double* negative);

}  // namespace dipu::kernels
