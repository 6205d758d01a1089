// SPDX-License-Identifier: Apache-2.0
//
// Elementwise special functions over tensors. Inputs broadcast to the output,
// which may be one of them; every call enqueues and returns. Inputs may have
// any real dtype, the output must be floating (kUnsupported otherwise). Results
// are rounded to it once.
#pragma once

#include <cstdint>

#include "kernels/compute/queue.h"
#include "kernels/compute/status.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

enum class SpecialOp : int32_t {
  kAiryAi,
  kBesselJ0,
  kBesselJ1,
  kBesselY0,
  kBesselY1,
  kDigamma,
  kEntr,  // -x log x
  kErfc,
  kErfcx,  // exp(x^2) erfc(x)
  kExp2,
  kI0,
  kI0e,  // exp(-|x|) I0(x)
  kI1,
  kI1e,
  kK0,
  kK0e,  // exp(x) K0(x)
  kK1,
  kK1e,
  kLgamma,
  kLogNdtr,  // logarithm of the normal distribution function
  kNdtri,    // inverse of the normal distribution function
  kSinc,     // sin(pi x) / (pi x)
  kSphericalJ0,
};
Status specialUnary(const Queue& queue, SpecialOp op, const TensorView& out,
                    const TensorView& input);

// The second operand of the polynomials is the degree, which is truncated to
// a whole number.
enum class SpecialBinaryOp : int32_t {
  kAtan2,
  kChebyshevT,
  kChebyshevU,
  kChebyshevV,
  kChebyshevW,
  kHermiteH,
  kHermiteHe,
  kHypot,
  kLaguerreL,
  kLegendreP,
  kLogAddExp,   // log(exp a + exp b)
  kLogAddExp2,  // log2(2^a + 2^b)
  kLowerGamma,  // P(a, b)
  kShiftedChebyshevT,
  kShiftedChebyshevU,
  kShiftedChebyshevV,
  kShiftedChebyshevW,
  kUpperGamma,  // Q(a, b)
  kXLog1pY,     // a log(1 + b), 0 where a is 0
  kXLogY,       // a log b, 0 where a is 0
  kZeta,
};
Status specialBinary(const Queue& queue, SpecialBinaryOp op,
                     const TensorView& out, const TensorView& a,
                     const TensorView& b);

// The n-th derivative of digamma; n >= 0.
Status polygamma(const Queue& queue, const TensorView& out, int64_t n,
                 const TensorView& input);

// out = log(x / (1 - x)), x being the input limited to [eps, 1 - eps]; without
// limits when `eps` is nullptr. The limits are numbers of the output's type.
Status logit(const Queue& queue, const TensorView& out, const TensorView& input,
             const double* eps);
// Its gradient: 0 outside the limits; NaN outside [0, 1] without limits.
Status logitBackward(const Queue& queue, const TensorView& grad_input,
                     const TensorView& grad_output, const TensorView& input,
                     const double* eps);

}  // namespace dipu::kernels
