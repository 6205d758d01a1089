// SPDX-License-Identifier: Apache-2.0
//
// DIOPI's convolutions.
#include "kernels/compute/convolution/convolution.h"

#include <diopi/functions.h>

#include "kernels/diopi/tensor_args.h"

namespace {

using dipu::kernels::ConvolutionArguments;
using dipu::kernels::diopi::done;
using dipu::kernels::diopi::queueOf;
using dipu::kernels::diopi::view;

// A list may have one element for all dimensions, or none.
void read(const diopiSize_t& list, std::array<int64_t, 3>* values) {
  if (list.data == nullptr || list.len == 0) return;
  for (int64_t i = 0; i < 3; ++i) {
    (*values)[i] = list.data[i < list.len ? i : list.len - 1];
  }
}

ConvolutionArguments convolutionArguments(const diopiSize_t& stride,
                                          const diopiSize_t& padding,
                                          const diopiSize_t& dilation,
                                          int64_t groups) {
  ConvolutionArguments arguments;
  read(stride, &arguments.stride);
  read(padding, &arguments.padding);
  read(dilation, &arguments.dilation);
  arguments.groups = groups;
  return arguments;
}

}  // namespace

extern "C" {

diopiError_t diopiConvolution2d(diopiContextHandle_t ctx,
                                diopiTensorHandle_t out,
                                diopiConstTensorHandle_t input,
                                diopiConstTensorHandle_t weight,
                                diopiConstTensorHandle_t bias,
                                diopiSize_t stride, diopiSize_t padding,
                                diopiSize_t dilation, int64_t groups) {
  return done(dipu::kernels::convolve(
      queueOf(ctx), view(out), view(input), view(weight), view(bias),
      convolutionArguments(stride, padding, dilation, groups)));
}

// The shape of the bias follows from grad_bias.
diopiError_t diopiConvolution2dBackward(
    diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
    diopiTensorHandle_t grad_weight, diopiTensorHandle_t grad_bias,
    diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
    diopiConstTensorHandle_t weight, diopiSize_t* /*bias_sizes*/,
    diopiSize_t stride, diopiSize_t padding, diopiSize_t dilation,
    int64_t groups) {
  return done(dipu::kernels::convolveBackward(
      queueOf(ctx), view(grad_input), view(grad_weight), view(grad_bias),
      view(grad_output), view(input), view(weight),
      convolutionArguments(stride, padding, dilation, groups)));
}

// The size of `out` says all that output_padding would.
diopiError_t diopiConvTranspose2d(
    diopiContextHandle_t ctx, diopiTensorHandle_t out,
    diopiConstTensorHandle_t input, diopiConstTensorHandle_t weight,
    diopiConstTensorHandle_t bias, diopiSize_t stride, diopiSize_t padding,
    diopiSize_t /*output_padding*/, int64_t groups, diopiSize_t dilation) {
  return done(dipu::kernels::convolveTransposed(
      queueOf(ctx), view(out), view(input), view(weight), view(bias),
      convolutionArguments(stride, padding, dilation, groups)));
}

diopiError_t diopiConvTranspose2dBackward(
    diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
    diopiTensorHandle_t grad_weight, diopiTensorHandle_t grad_bias,
    diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
    diopiConstTensorHandle_t weight, diopiSize_t* /*bias_sizes*/,
    diopiSize_t stride, diopiSize_t padding, diopiSize_t dilation,
    diopiSize_t /*output_padding*/, int64_t groups) {
  return done(dipu::kernels::convolveTransposedBackward(
      queueOf(ctx), view(grad_input), view(grad_weight), view(grad_bias),
      view(grad_output), view(input), view(weight),
      convolutionArguments(stride, padding, dilation, groups)));
}

// The numbers of dimensions follow from the tensors.
diopiError_t diopiConvolution3d(diopiContextHandle_t ctx,
                                diopiTensorHandle_t out,
                                diopiConstTensorHandle_t input,
                                diopiConstTensorHandle_t weight,
                                diopiConstTensorHandle_t bias,
                                diopiSize_t stride, diopiSize_t padding,
                                diopiSize_t dilation, int64_t groups) {
  return done(dipu::kernels::convolve(
      queueOf(ctx), view(out), view(input), view(weight), view(bias),
      convolutionArguments(stride, padding, dilation, groups)));
}

diopiError_t diopiConvolution3dBackward(
    diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
    diopiTensorHandle_t grad_weight, diopiTensorHandle_t grad_bias,
    diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
    diopiConstTensorHandle_t weight, diopiSize_t* /*bias_sizes*/,
    diopiSize_t stride, diopiSize_t padding, diopiSize_t dilation,
    int64_t groups) {
  return done(dipu::kernels::convolveBackward(
      queueOf(ctx), view(grad_input), view(grad_weight), view(grad_bias),
      view(grad_output), view(input), view(weight),
      convolutionArguments(stride, padding, dilation, groups)));
}

diopiError_t diopiConvTranspose3d(
    diopiContextHandle_t ctx, diopiTensorHandle_t out,
    diopiConstTensorHandle_t input, diopiConstTensorHandle_t weight,
    diopiConstTensorHandle_t bias, diopiSize_t stride, diopiSize_t padding,
    diopiSize_t /*output_padding*/, int64_t groups, diopiSize_t dilation) {
  return done(dipu::kernels::convolveTransposed(
      queueOf(ctx), view(out), view(input), view(weight), view(bias),
      convolutionArguments(stride, padding, dilation, groups)));
}

diopiError_t diopiConvTranspose3dBackward(
    diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
    diopiTensorHandle_t grad_weight, diopiTensorHandle_t grad_bias,
    diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
    diopiConstTensorHandle_t weight, diopiSize_t* /*bias_sizes*/,
    diopiSize_t stride, diopiSize_t padding, diopiSize_t dilation,
    diopiSize_t /*output_padding*/, int64_t groups) {
  return done(dipu::kernels::convolveTransposedBackward(
      queueOf(ctx), view(grad_input), view(grad_weight), view(grad_bias),
      view(grad_output), view(input), view(weight),
      convolutionArguments(stride, padding, dilation, groups)));
}

}  // extern "C"
