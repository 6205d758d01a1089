// SPDX-License-Identifier: Apache-2.0
//
// DIOPI's softmax functions.
#include "kernels/compute/softmax/softmax.h"

#include <diopi/functions.h>

#include "kernels/diopi/tensor_args.h"

using dipu::kernels::softmax;
using dipu::kernels::softmaxBackward;
using dipu::kernels::SoftmaxKind;
using dipu::kernels::diopi::done;
using dipu::kernels::diopi::queueOf;
using dipu::kernels::diopi::view;

extern "C" {

diopiError_t diopiSoftmax(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                          diopiConstTensorHandle_t input, int64_t dim) {
  return done(
      softmax(queueOf(ctx), SoftmaxKind::kPlain, view(out), view(input), dim));
}

diopiError_t diopiSoftmaxBackward(diopiContextHandle_t ctx,
                                  diopiTensorHandle_t grad_input,
                                  diopiConstTensorHandle_t grad_output,
                                  diopiConstTensorHandle_t output,
                                  int64_t dim) {
  return done(softmaxBackward(queueOf(ctx), SoftmaxKind::kPlain,
                              view(grad_input), view(grad_output), view(output),
                              dim));
}

diopiError_t diopiLogSoftmax(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                             diopiConstTensorHandle_t input, int64_t dim) {
  return done(
      softmax(queueOf(ctx), SoftmaxKind::kLog, view(out), view(input), dim));
}

diopiError_t diopiLogSoftmaxBackward(diopiContextHandle_t ctx,
                                     diopiTensorHandle_t grad_input,
                                     diopiConstTensorHandle_t grad_output,
                                     diopiConstTensorHandle_t output,
                                     int64_t dim) {
  return done(softmaxBackward(queueOf(ctx), SoftmaxKind::kLog, view(grad_input),
                              view(grad_output), view(output), dim));
}

}  // extern "C"
