// SPDX-License-Identifier: Apache-2.0
//
// DIPU's extension: rounding, and the sign, fraction and exponent of numbers.
#include "kernels/compute/number_parts.h"

#include <diopi/functions.h>
#include <diopi/functions_dipu.h>

#include "kernels/compute/elementwise.h"
#include "kernels/diopi/tensor_args.h"

using namespace dipu::kernels;         // NOLINT(build/namespaces)
using namespace dipu::kernels::diopi;  // NOLINT(build/namespaces)

extern "C" {

// A real number is its own conjugate.
diopiError_t diopiConj(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                       diopiConstTensorHandle_t input) {
  return done(convertTensor(queueOf(ctx), view(out), view(input)));
}

diopiError_t diopiExtRound(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                           diopiConstTensorHandle_t input) {
  return done(dipu::kernels::round(queueOf(ctx), view(out), view(input)));
}

diopiError_t diopiExtRoundDecimals(diopiContextHandle_t ctx,
                                   diopiTensorHandle_t out,
                                   diopiConstTensorHandle_t input,
                                   int64_t decimals) {
  return done(roundDecimals(queueOf(ctx), view(out), view(input), decimals));
}

diopiError_t diopiExtTrunc(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                           diopiConstTensorHandle_t input) {
  return done(dipu::kernels::trunc(queueOf(ctx), view(out), view(input)));
}

diopiError_t diopiExtFrac(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                          diopiConstTensorHandle_t input) {
  return done(frac(queueOf(ctx), view(out), view(input)));
}

diopiError_t diopiExtAngle(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                           diopiConstTensorHandle_t input) {
  return done(angle(queueOf(ctx), view(out), view(input)));
}

diopiError_t diopiExtSignbit(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                             diopiConstTensorHandle_t input) {
  return done(signbit(queueOf(ctx), view(out), view(input)));
}

diopiError_t diopiExtCopysign(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                              diopiConstTensorHandle_t input,
                              diopiConstTensorHandle_t other) {
  return done(copysign(queueOf(ctx), view(out), view(input), view(other)));
}

diopiError_t diopiExtCopysignScalar(diopiContextHandle_t ctx,
                                    diopiTensorHandle_t out,
                                    diopiConstTensorHandle_t input,
                                    const diopiScalar_t* other) {
  return done(
      copysignScalar(queueOf(ctx), view(out), view(input), scalar(other)));
}

diopiError_t diopiExtFrexp(diopiContextHandle_t ctx,
                           diopiTensorHandle_t mantissa,
                           diopiTensorHandle_t exponent,
                           diopiConstTensorHandle_t input) {
  return done(frexp(queueOf(ctx), view(mantissa), view(exponent), view(input)));
}

diopiError_t diopiExtNextafter(diopiContextHandle_t ctx,
                               diopiTensorHandle_t out,
                               diopiConstTensorHandle_t input,
                               diopiConstTensorHandle_t other) {
  return done(nextafter(queueOf(ctx), view(out), view(input), view(other)));
}

diopiError_t diopiExtNanToNum(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                              diopiConstTensorHandle_t input, const double* nan,
                              const double* posinf, const double* neginf) {
  return done(
      nanToNum(queueOf(ctx), view(out), view(input), nan, posinf, neginf));
}

}  // extern "C"
