// SPDX-License-Identifier: Apache-2.0
//
// Activation functions that DIOPI lacks.
#include "kernels/compute/rectifier.h"

#include <diopi/functions_dipu.h>

#include "kernels/compute/glu.h"
#include "kernels/diopi/tensor_args.h"

using namespace dipu::kernels;         // NOLINT(build/namespaces)
using namespace dipu::kernels::diopi;  // NOLINT(build/namespaces)

namespace {

double number(const diopiScalar_t* value) { return scalar(value).to<double>(); }

EluOptions eluOptions(const diopiScalar_t* alpha, const diopiScalar_t* scale,
                      const diopiScalar_t* input_scale) {
  return {number(alpha), number(scale), number(input_scale)};
}

}  // namespace

extern "C" {

diopiError_t diopiExtElu(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                         diopiConstTensorHandle_t input,
                         const diopiScalar_t* alpha, const diopiScalar_t* scale,
                         const diopiScalar_t* input_scale) {
  return done(elu(queueOf(ctx), view(out), view(input),
                  eluOptions(alpha, scale, input_scale)));
}

diopiError_t diopiExtEluBackward(
    diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
    diopiConstTensorHandle_t grad_output, const diopiScalar_t* alpha,
    const diopiScalar_t* scale, const diopiScalar_t* input_scale,
    bool is_result, diopiConstTensorHandle_t input_or_result) {
  return done(eluBackward(queueOf(ctx), view(grad_input), view(grad_output),
                          view(input_or_result),
                          eluOptions(alpha, scale, input_scale), is_result));
}

diopiError_t diopiExtGlu(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                         diopiConstTensorHandle_t input, int64_t dim) {
  return done(glu(queueOf(ctx), view(out), view(input), dim));
}

diopiError_t diopiExtGluBackward(diopiContextHandle_t ctx,
                                 diopiTensorHandle_t grad_input,
                                 diopiConstTensorHandle_t grad_output,
                                 diopiConstTensorHandle_t input, int64_t dim) {
  return done(gluBackward(queueOf(ctx), view(grad_input), view(grad_output),
                          view(input), dim));
}

diopiError_t diopiExtGluJvp(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                            diopiConstTensorHandle_t result,
                            diopiConstTensorHandle_t input,
                            diopiConstTensorHandle_t input_tangent,
                            int64_t dim) {
  return done(gluTangent(queueOf(ctx), view(out), view(result), view(input),
                         view(input_tangent), dim));
}

diopiError_t diopiExtHardshrink(diopiContextHandle_t ctx,
                                diopiTensorHandle_t out,
                                diopiConstTensorHandle_t input,
                                const diopiScalar_t* lambd) {
  return done(hardshrink(queueOf(ctx), view(out), view(input), number(lambd)));
}

diopiError_t diopiExtHardshrinkBackward(diopiContextHandle_t ctx,
                                        diopiTensorHandle_t grad_input,
                                        diopiConstTensorHandle_t grad_output,
                                        diopiConstTensorHandle_t input,
                                        const diopiScalar_t* lambd) {
  return done(shrinkBackward(queueOf(ctx), view(grad_input), view(grad_output),
                             view(input), number(lambd)));
}

diopiError_t diopiExtHardsigmoid(diopiContextHandle_t ctx,
                                 diopiTensorHandle_t out,
                                 diopiConstTensorHandle_t input) {
  return done(hardsigmoid(queueOf(ctx), view(out), view(input)));
}

diopiError_t diopiExtHardsigmoidBackward(diopiContextHandle_t ctx,
                                         diopiTensorHandle_t grad_input,
                                         diopiConstTensorHandle_t grad_output,
                                         diopiConstTensorHandle_t input) {
  return done(hardsigmoidBackward(queueOf(ctx), view(grad_input),
                                  view(grad_output), view(input)));
}

diopiError_t diopiExtLogSigmoid(diopiContextHandle_t ctx,
                                diopiTensorHandle_t out,
                                diopiTensorHandle_t buffer,
                                diopiConstTensorHandle_t input) {
  return done(logSigmoid(queueOf(ctx), view(out), view(buffer), view(input)));
}

diopiError_t diopiExtLogSigmoidBackward(diopiContextHandle_t ctx,
                                        diopiTensorHandle_t grad_input,
                                        diopiConstTensorHandle_t grad_output,
                                        diopiConstTensorHandle_t input,
                                        diopiConstTensorHandle_t /*buffer*/) {
  return done(logSigmoidBackward(queueOf(ctx), view(grad_input),
                                 view(grad_output), view(input)));
}

diopiError_t diopiExtMish(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                          diopiConstTensorHandle_t input) {
  return done(mish(queueOf(ctx), view(out), view(input)));
}

diopiError_t diopiExtMishBackward(diopiContextHandle_t ctx,
                                  diopiTensorHandle_t grad_input,
                                  diopiConstTensorHandle_t grad_output,
                                  diopiConstTensorHandle_t input) {
  return done(mishBackward(queueOf(ctx), view(grad_input), view(grad_output),
                           view(input)));
}

diopiError_t diopiExtPrelu(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                           diopiConstTensorHandle_t input,
                           diopiConstTensorHandle_t weight) {
  return done(prelu(queueOf(ctx), view(out), view(input), view(weight)));
}

diopiError_t diopiExtPreluBackward(diopiContextHandle_t ctx,
                                   diopiTensorHandle_t grad_input,
                                   diopiTensorHandle_t grad_weight,
                                   diopiConstTensorHandle_t grad_output,
                                   diopiConstTensorHandle_t input,
                                   diopiConstTensorHandle_t weight) {
  return done(preluBackward(queueOf(ctx), view(grad_input), view(grad_weight),
                            view(grad_output), view(input), view(weight)));
}

diopiError_t diopiExtSoftplus(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                              diopiConstTensorHandle_t input,
                              const diopiScalar_t* beta,
                              const diopiScalar_t* threshold) {
  return done(softplus(queueOf(ctx), view(out), view(input), number(beta),
                       number(threshold)));
}

diopiError_t diopiExtSoftplusBackward(diopiContextHandle_t ctx,
                                      diopiTensorHandle_t grad_input,
                                      diopiConstTensorHandle_t grad_output,
                                      diopiConstTensorHandle_t input,
                                      const diopiScalar_t* beta,
                                      const diopiScalar_t* threshold) {
  return done(softplusBackward(queueOf(ctx), view(grad_input),
                               view(grad_output), view(input), number(beta),
                               number(threshold)));
}

diopiError_t diopiExtSoftshrink(diopiContextHandle_t ctx,
                                diopiTensorHandle_t out,
                                diopiConstTensorHandle_t input,
                                const diopiScalar_t* lambd) {
  return done(softshrink(queueOf(ctx), view(out), view(input), number(lambd)));
}

diopiError_t diopiExtSoftshrinkBackward(diopiContextHandle_t ctx,
                                        diopiTensorHandle_t grad_input,
                                        diopiConstTensorHandle_t grad_output,
                                        diopiConstTensorHandle_t input,
                                        const diopiScalar_t* lambd) {
  return done(shrinkBackward(queueOf(ctx), view(grad_input), view(grad_output),
                             view(input), number(lambd)));
}

}  // extern "C"
