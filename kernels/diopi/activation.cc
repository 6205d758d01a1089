// SPDX-License-Identifier: Apache-2.0
//
// DIOPI activation functions; those of one line are in elementwise_unary.cc.
#include "kernels/compute/activation.h"

#include <diopi/functions.h>

#include <cstring>

#include "kernels/compute/pointwise.h"
#include "kernels/diopi/tensor_args.h"

using namespace dipu::kernels;         // NOLINT(build/namespaces)
using namespace dipu::kernels::diopi;  // NOLINT(build/namespaces)

namespace {

bool isTanh(const char* approximate) {
  return approximate != nullptr && std::strcmp(approximate, "tanh") == 0;
}

Status hardtanh(const Queue& queue, const TensorView& out,
                const TensorView& input, const diopiScalar_t* min_val,
                const diopiScalar_t* max_val) {
  const Scalar low = scalar(min_val);
  const Scalar high = scalar(max_val);
  return clampScalar(queue, out, input, &low, &high);
}

}  // namespace

extern "C" {

diopiError_t diopiGelu(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                       diopiConstTensorHandle_t input,
                       const char* approximate) {
  return done(gelu(queueOf(ctx), view(out), view(input), isTanh(approximate)));
}

diopiError_t diopiGeluBackward(diopiContextHandle_t ctx,
                               diopiTensorHandle_t grad_input,
                               diopiConstTensorHandle_t grad_output,
                               diopiConstTensorHandle_t input,
                               const char* approximate) {
  return done(geluBackward(queueOf(ctx), view(grad_input), view(grad_output),
                           view(input), isTanh(approximate)));
}

diopiError_t diopiSilu(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                       diopiConstTensorHandle_t input) {
  return done(silu(queueOf(ctx), view(out), view(input)));
}

diopiError_t diopiSiluInp(diopiContextHandle_t ctx, diopiTensorHandle_t input) {
  return done(silu(queueOf(ctx), view(input), view(input)));
}

diopiError_t diopiSiluBackward(diopiContextHandle_t ctx,
                               diopiTensorHandle_t grad_input,
                               diopiConstTensorHandle_t grad_output,
                               diopiConstTensorHandle_t input) {
  return done(siluBackward(queueOf(ctx), view(grad_input), view(grad_output),
                           view(input)));
}

diopiError_t diopiTanhBackward(diopiContextHandle_t ctx,
                               diopiTensorHandle_t grad_input,
                               diopiConstTensorHandle_t grad_output,
                               diopiConstTensorHandle_t output) {
  return done(tanhBackward(queueOf(ctx), view(grad_input), view(grad_output),
                           view(output)));
}

diopiError_t diopiSigmoidBackward(diopiContextHandle_t ctx,
                                  diopiTensorHandle_t grad_input,
                                  diopiConstTensorHandle_t grad_output,
                                  diopiConstTensorHandle_t output) {
  return done(sigmoidBackward(queueOf(ctx), view(grad_input), view(grad_output),
                              view(output)));
}

diopiError_t diopiLeakyRelu(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                            diopiConstTensorHandle_t input,
                            const diopiScalar_t* negative_slope) {
  return done(
      leakyRelu(queueOf(ctx), view(out), view(input), scalar(negative_slope)));
}

diopiError_t diopiLeakyReluInp(diopiContextHandle_t ctx,
                               diopiTensorHandle_t input,
                               const diopiScalar_t* negative_slope) {
  return done(leakyRelu(queueOf(ctx), view(input), view(input),
                        scalar(negative_slope)));
}

diopiError_t diopiLeakyReluBackward(diopiContextHandle_t ctx,
                                    diopiTensorHandle_t grad_input,
                                    diopiConstTensorHandle_t grad_output,
                                    diopiConstTensorHandle_t input,
                                    const diopiScalar_t* negative_slope,
                                    bool /*input_is_result*/) {
  return done(leakyReluBackward(queueOf(ctx), view(grad_input),
                                view(grad_output), view(input),
                                scalar(negative_slope)));
}

diopiError_t diopiHardtanh(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                           diopiConstTensorHandle_t input,
                           const diopiScalar_t* min_val,
                           const diopiScalar_t* max_val) {
  return done(hardtanh(queueOf(ctx), view(out), view(input), min_val, max_val));
}

diopiError_t diopiHardtanhInp(diopiContextHandle_t ctx,
                              diopiTensorHandle_t input,
                              const diopiScalar_t* min_val,
                              const diopiScalar_t* max_val) {
  return done(
      hardtanh(queueOf(ctx), view(input), view(input), min_val, max_val));
}

diopiError_t diopiHardtanhBackward(diopiContextHandle_t ctx,
                                   diopiTensorHandle_t grad_input,
                                   diopiConstTensorHandle_t grad_output,
                                   diopiConstTensorHandle_t input,
                                   const diopiScalar_t* min_val,
                                   const diopiScalar_t* max_val) {
  return done(hardtanhBackward(queueOf(ctx), view(grad_input),
                               view(grad_output), view(input), scalar(min_val),
                               scalar(max_val)));
}

diopiError_t diopiHardswish(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                            diopiConstTensorHandle_t input) {
  return done(hardswish(queueOf(ctx), view(out), view(input)));
}

diopiError_t diopiHardswishInp(diopiContextHandle_t ctx,
                               diopiTensorHandle_t input) {
  return done(hardswish(queueOf(ctx), view(input), view(input)));
}

diopiError_t diopiHardswishBackward(diopiContextHandle_t ctx,
                                    diopiTensorHandle_t grad_input,
                                    diopiConstTensorHandle_t grad_output,
                                    diopiConstTensorHandle_t input) {
  return done(hardswishBackward(queueOf(ctx), view(grad_input),
                                view(grad_output), view(input)));
}

diopiError_t diopiThreshold(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                            diopiConstTensorHandle_t input,
                            const diopiScalar_t* threshold_value,
                            const diopiScalar_t* value) {
  return done(threshold(queueOf(ctx), view(out), view(input),
                        scalar(threshold_value), scalar(value)));
}

diopiError_t diopiThresholdInp(diopiContextHandle_t ctx,
                               diopiTensorHandle_t input,
                               const diopiScalar_t* threshold_value,
                               const diopiScalar_t* value) {
  return done(threshold(queueOf(ctx), view(input), view(input),
                        scalar(threshold_value), scalar(value)));
}

diopiError_t diopiThresholdBackward(diopiContextHandle_t ctx,
                                    diopiTensorHandle_t grad_input,
                                    diopiConstTensorHandle_t grad_output,
                                    diopiConstTensorHandle_t input,
                                    const diopiScalar_t* threshold_value) {
  return done(thresholdBackward(queueOf(ctx), view(grad_input),
                                view(grad_output), view(input),
                                scalar(threshold_value)));
}

}  // extern "C"
