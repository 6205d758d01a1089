// SPDX-License-Identifier: Apache-2.0
//
// DIOPI arithmetic on two tensors, or a tensor and a number.
#include <diopi/functions.h>

#include "kernels/compute/binary.h"
#include "kernels/diopi/tensor_args.h"

using namespace dipu::kernels;         // NOLINT(build/namespaces)
using namespace dipu::kernels::diopi;  // NOLINT(build/namespaces)

extern "C" {

diopiError_t diopiAdd(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                      diopiConstTensorHandle_t input,
                      diopiConstTensorHandle_t other,
                      const diopiScalar_t* alpha) {
  return done(
      add(queueOf(ctx), view(out), view(input), view(other), scalar(alpha)));
}

diopiError_t diopiAddInp(diopiContextHandle_t ctx, diopiTensorHandle_t input,
                         diopiConstTensorHandle_t other,
                         const diopiScalar_t* alpha) {
  return done(
      add(queueOf(ctx), view(input), view(input), view(other), scalar(alpha)));
}

diopiError_t diopiAddScalar(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                            diopiConstTensorHandle_t input,
                            const diopiScalar_t* other,
                            const diopiScalar_t* alpha) {
  return done(addScalar(queueOf(ctx), view(out), view(input), scalar(other),
                        scalar(alpha)));
}

diopiError_t diopiAddInpScalar(diopiContextHandle_t ctx,
                               diopiTensorHandle_t input,
                               const diopiScalar_t* other,
                               const diopiScalar_t* alpha) {
  return done(addScalar(queueOf(ctx), view(input), view(input), scalar(other),
                        scalar(alpha)));
}

diopiError_t diopiSub(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                      diopiConstTensorHandle_t input,
                      diopiConstTensorHandle_t other,
                      const diopiScalar_t* alpha) {
  return done(
      sub(queueOf(ctx), view(out), view(input), view(other), scalar(alpha)));
}

diopiError_t diopiSubInp(diopiContextHandle_t ctx, diopiTensorHandle_t input,
                         diopiConstTensorHandle_t other,
                         const diopiScalar_t* alpha) {
  return done(
      sub(queueOf(ctx), view(input), view(input), view(other), scalar(alpha)));
}

diopiError_t diopiSubScalar(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                            diopiConstTensorHandle_t input,
                            const diopiScalar_t* other,
                            const diopiScalar_t* alpha) {
  return done(subScalar(queueOf(ctx), view(out), view(input), scalar(other),
                        scalar(alpha)));
}

diopiError_t diopiSubInpScalar(diopiContextHandle_t ctx,
                               diopiTensorHandle_t input,
                               const diopiScalar_t* other,
                               const diopiScalar_t* alpha) {
  return done(subScalar(queueOf(ctx), view(input), view(input), scalar(other),
                        scalar(alpha)));
}

diopiError_t diopiMul(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                      diopiConstTensorHandle_t input,
                      diopiConstTensorHandle_t other) {
  return done(mul(queueOf(ctx), view(out), view(input), view(other)));
}

diopiError_t diopiMulInp(diopiContextHandle_t ctx, diopiTensorHandle_t input,
                         diopiConstTensorHandle_t other) {
  return done(mul(queueOf(ctx), view(input), view(input), view(other)));
}

diopiError_t diopiMulScalar(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                            diopiConstTensorHandle_t input,
                            const diopiScalar_t* other) {
  return done(mulScalar(queueOf(ctx), view(out), view(input), scalar(other)));
}

diopiError_t diopiMulInpScalar(diopiContextHandle_t ctx,
                               diopiTensorHandle_t input,
                               const diopiScalar_t* other) {
  return done(mulScalar(queueOf(ctx), view(input), view(input), scalar(other)));
}

diopiError_t diopiDiv(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                      diopiConstTensorHandle_t input,
                      diopiConstTensorHandle_t other,
                      diopiRoundMode_t rounding_mode) {
  return done(div(queueOf(ctx), view(out), view(input), view(other),
                  static_cast<RoundMode>(rounding_mode)));
}

diopiError_t diopiDivInp(diopiContextHandle_t ctx, diopiTensorHandle_t input,
                         diopiConstTensorHandle_t other,
                         diopiRoundMode_t rounding_mode) {
  return done(div(queueOf(ctx), view(input), view(input), view(other),
                  static_cast<RoundMode>(rounding_mode)));
}

diopiError_t diopiDivScalar(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                            diopiConstTensorHandle_t input,
                            const diopiScalar_t* other,
                            diopiRoundMode_t rounding_mode) {
  return done(divScalar(queueOf(ctx), view(out), view(input), scalar(other),
                        static_cast<RoundMode>(rounding_mode)));
}

diopiError_t diopiDivInpScalar(diopiContextHandle_t ctx,
                               diopiTensorHandle_t input,
                               const diopiScalar_t* other,
                               diopiRoundMode_t rounding_mode) {
  return done(divScalar(queueOf(ctx), view(input), view(input), scalar(other),
                        static_cast<RoundMode>(rounding_mode)));
}

diopiError_t diopiRemainderTensor(diopiContextHandle_t ctx,
                                  diopiTensorHandle_t out,
                                  diopiConstTensorHandle_t input,
                                  diopiConstTensorHandle_t other) {
  return done(remainder(queueOf(ctx), view(out), view(input), view(other)));
}

diopiError_t diopiRemainderScalar(diopiContextHandle_t ctx,
                                  diopiTensorHandle_t out,
                                  diopiConstTensorHandle_t input,
                                  const diopiScalar_t* other) {
  return done(
      remainderScalar(queueOf(ctx), view(out), view(input), scalar(other)));
}

diopiError_t diopiRemainder(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                            const diopiScalar_t* input,
                            diopiConstTensorHandle_t other) {
  return done(
      scalarRemainder(queueOf(ctx), view(out), scalar(input), view(other)));
}

diopiError_t diopiPow(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                      diopiConstTensorHandle_t input,
                      const diopiScalar_t* exponent) {
  return done(
      powScalar(queueOf(ctx), view(out), view(input), scalar(exponent)));
}

diopiError_t diopiPowInp(diopiContextHandle_t ctx, diopiTensorHandle_t input,
                         const diopiScalar_t* exponent) {
  return done(
      powScalar(queueOf(ctx), view(input), view(input), scalar(exponent)));
}

diopiError_t diopiPowTensor(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                            diopiConstTensorHandle_t input,
                            diopiConstTensorHandle_t exponent) {
  return done(pow(queueOf(ctx), view(out), view(input), view(exponent)));
}

diopiError_t diopiPowInpTensor(diopiContextHandle_t ctx,
                               diopiTensorHandle_t input,
                               diopiConstTensorHandle_t exponent) {
  return done(pow(queueOf(ctx), view(input), view(input), view(exponent)));
}

diopiError_t diopiPowScalar(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                            const diopiScalar_t* input,
                            diopiConstTensorHandle_t exponent) {
  return done(
      scalarPow(queueOf(ctx), view(out), scalar(input), view(exponent)));
}

diopiError_t diopiMaximum(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                          diopiConstTensorHandle_t input,
                          diopiConstTensorHandle_t other) {
  return done(maximum(queueOf(ctx), view(out), view(input), view(other)));
}

diopiError_t diopiMinimum(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                          diopiConstTensorHandle_t input,
                          diopiConstTensorHandle_t other) {
  return done(minimum(queueOf(ctx), view(out), view(input), view(other)));
}

}  // extern "C"
