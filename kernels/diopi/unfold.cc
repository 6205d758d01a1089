// SPDX-License-Identifier: Apache-2.0
//
// DIOPI's functions on windows of tensors, beside pooling.
#include "kernels/compute/pooling/unfold.h"

#include <diopi/functions.h>
#include <diopi/functions_dipu.h>

#include "kernels/compute/pooling/unpool.h"
#include "kernels/diopi/size_list.h"
#include "kernels/diopi/tensor_args.h"

using dipu::kernels::diopi::done;
using dipu::kernels::diopi::poolArguments;
using dipu::kernels::diopi::queueOf;
using dipu::kernels::diopi::view;

extern "C" {

diopiError_t diopiIm2Col(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                         diopiConstTensorHandle_t input,
                         diopiSize_t kernel_size, diopiSize_t dilation,
                         diopiSize_t padding, diopiSize_t stride) {
  return done(dipu::kernels::imageToColumns(
      queueOf(ctx), view(out), view(input),
      poolArguments(2, kernel_size, stride, padding, dilation)));
}

diopiError_t diopiCol2Im(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                         diopiConstTensorHandle_t input,
                         diopiSize_t /*output_size*/, diopiSize_t kernel_size,
                         diopiSize_t dilation, diopiSize_t padding,
                         diopiSize_t stride) {
  return done(dipu::kernels::columnsToImage(
      queueOf(ctx), view(out), view(input),
      poolArguments(2, kernel_size, stride, padding, dilation)));
}

diopiError_t diopiUnfold(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                         diopiConstTensorHandle_t input, int64_t dim,
                         int64_t size, int64_t step) {
  return done(dipu::kernels::unfoldDimension(queueOf(ctx), view(out),
                                             view(input), dim, size, step));
}

diopiError_t diopiUnfoldBackward(diopiContextHandle_t ctx,
                                 diopiTensorHandle_t grad_input,
                                 diopiConstTensorHandle_t grad_output,
                                 diopiSize_t /*input_sizes*/, int64_t dim,
                                 int64_t size, int64_t step) {
  return done(dipu::kernels::unfoldDimensionBackward(
      queueOf(ctx), view(grad_input), view(grad_output), dim, size, step));
}

diopiError_t diopiExtMaxUnpool(diopiContextHandle_t ctx,
                               diopiTensorHandle_t out,
                               diopiConstTensorHandle_t input,
                               diopiConstTensorHandle_t indices,
                               int64_t dimensions) {
  return done(dipu::kernels::maxUnpool(queueOf(ctx), view(out), view(input),
                                       view(indices),
                                       static_cast<int32_t>(dimensions)));
}

diopiError_t diopiExtFractionalMaxPool(diopiContextHandle_t ctx,
                                       diopiTensorHandle_t out,
                                       diopiTensorHandle_t indices,
                                       diopiConstTensorHandle_t input,
                                       diopiSize_t kernel_size,
                                       diopiConstTensorHandle_t samples) {
  const auto none = diopiSize_t{nullptr, 0};
  return done(dipu::kernels::fractionalMaxPool(
      queueOf(ctx), view(out), view(indices), view(input), view(samples),
      poolArguments(static_cast<int32_t>(kernel_size.len), kernel_size, none,
                    none, none)));
}

diopiError_t diopiExtFractionalMaxPoolBackward(
    diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
    diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t indices,
    int64_t dimensions) {
  return done(dipu::kernels::maxPoolBackward(queueOf(ctx), view(grad_input),
                                             view(grad_output), view(indices),
                                             static_cast<int32_t>(dimensions)));
}

}  // extern "C"
