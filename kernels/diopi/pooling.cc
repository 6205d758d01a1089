// SPDX-License-Identifier: Apache-2.0
//
// DIOPI's pooling functions.
#include <diopi/functions.h>

#include "kernels/compute/pooling/pool.h"
#include "kernels/compute/pooling/upsample.h"
#include "kernels/diopi/tensor_args.h"

namespace {

using dipu::kernels::PoolArguments;
using dipu::kernels::TensorView;
using dipu::kernels::diopi::done;
using dipu::kernels::diopi::queueOf;
using dipu::kernels::diopi::view;

// Element `i` of a list that may have one element for all dimensions, or none.
int64_t element(const diopiSize_t& list, int64_t i, int64_t absent) {
  if (list.data == nullptr || list.len == 0) return absent;
  return list.data[i < list.len ? i : list.len - 1];
}

PoolArguments poolArguments(const diopiSize_t& kernel,
                            const diopiSize_t& stride,
                            const diopiSize_t& padding,
                            const diopiSize_t& dilation) {
  PoolArguments arguments;
  dipu::kernels::PoolAxis* axes[] = {&arguments.height, &arguments.width};
  for (int64_t i = 0; i < 2; ++i) {
    axes[i]->kernel = element(kernel, i, 1);
    axes[i]->stride = element(stride, i, axes[i]->kernel);
    axes[i]->padding = element(padding, i, 0);
    axes[i]->dilation = element(dilation, i, 1);
  }
  return arguments;
}

PoolArguments averageArguments(const diopiSize_t& kernel,
                               const diopiSize_t& stride,
                               const diopiSize_t& padding,
                               bool count_include_pad,
                               const int64_t* divisor_override) {
  PoolArguments arguments =
      poolArguments(kernel, stride, padding, diopiSize_t{nullptr, 0});
  arguments.count_include_pad = count_include_pad;
  arguments.divisor = divisor_override == nullptr ? 0 : *divisor_override;
  return arguments;
}

PoolArguments adaptiveArguments() {
  PoolArguments arguments;
  arguments.adaptive = true;
  return arguments;
}

}  // namespace

// The shape of the result says all that ceil_mode would.
extern "C" {

diopiError_t diopiMaxPool2d(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                            diopiConstTensorHandle_t input,
                            diopiSize_t kernel_size, diopiSize_t stride,
                            diopiSize_t padding, diopiSize_t dilation,
                            bool /*ceil_mode*/) {
  return done(dipu::kernels::maxPool2d(
      queueOf(ctx), view(out), TensorView(), view(input),
      poolArguments(kernel_size, stride, padding, dilation)));
}

diopiError_t diopiMaxPool2dWithIndices(
    diopiContextHandle_t ctx, diopiTensorHandle_t out,
    diopiTensorHandle_t indices, diopiConstTensorHandle_t input,
    diopiSize_t kernel_size, diopiSize_t stride, diopiSize_t padding,
    diopiSize_t dilation, bool /*ceil_mode*/) {
  return done(dipu::kernels::maxPool2d(
      queueOf(ctx), view(out), view(indices), view(input),
      poolArguments(kernel_size, stride, padding, dilation)));
}

diopiError_t diopiMaxPool2dBackward(
    diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
    diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t /*input*/,
    diopiSize_t /*kernel_size*/, diopiSize_t /*stride*/,
    diopiSize_t /*padding*/, diopiSize_t /*dilation*/, bool /*ceil_mode*/,
    diopiConstTensorHandle_t indices) {
  return done(dipu::kernels::maxPool2dBackward(
      queueOf(ctx), view(grad_input), view(grad_output), view(indices)));
}

diopiError_t diopiAvgPool2d(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                            diopiConstTensorHandle_t input,
                            diopiSize_t kernel_size, diopiSize_t stride,
                            diopiSize_t padding, bool /*ceil_mode*/,
                            bool count_include_pad,
                            const int64_t* divisor_override) {
  return done(dipu::kernels::avgPool2d(
      queueOf(ctx), view(out), view(input),
      averageArguments(kernel_size, stride, padding, count_include_pad,
                       divisor_override)));
}

diopiError_t diopiAvgPool2dBackward(diopiContextHandle_t ctx,
                                    diopiTensorHandle_t grad_input,
                                    diopiConstTensorHandle_t grad_output,
                                    diopiConstTensorHandle_t /*input*/,
                                    diopiSize_t kernel_size, diopiSize_t stride,
                                    diopiSize_t padding, bool /*ceil_mode*/,
                                    bool count_include_pad,
                                    const int64_t* divisor_override) {
  return done(dipu::kernels::avgPool2dBackward(
      queueOf(ctx), view(grad_input), view(grad_output),
      averageArguments(kernel_size, stride, padding, count_include_pad,
                       divisor_override)));
}

diopiError_t diopiAdaptiveAvgPool2d(diopiContextHandle_t ctx,
                                    diopiTensorHandle_t out,
                                    diopiConstTensorHandle_t input,
                                    diopiSize_t /*output_size*/) {
  return done(dipu::kernels::avgPool2d(queueOf(ctx), view(out), view(input),
                                       adaptiveArguments()));
}

diopiError_t diopiAdaptiveAvgPool2dBackward(
    diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
    diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t /*input*/) {
  return done(dipu::kernels::avgPool2dBackward(
      queueOf(ctx), view(grad_input), view(grad_output), adaptiveArguments()));
}

diopiError_t diopiAdaptiveMaxPool2d(diopiContextHandle_t ctx,
                                    diopiTensorHandle_t out,
                                    diopiConstTensorHandle_t input,
                                    diopiSize_t /*output_size*/) {
  return done(dipu::kernels::maxPool2d(queueOf(ctx), view(out), TensorView(),
                                       view(input), adaptiveArguments()));
}

diopiError_t diopiAdaptiveMaxPool2dWithIndices(diopiContextHandle_t ctx,
                                               diopiTensorHandle_t out,
                                               diopiTensorHandle_t indices,
                                               diopiConstTensorHandle_t input,
                                               diopiSize_t /*output_size*/) {
  return done(dipu::kernels::maxPool2d(queueOf(ctx), view(out), view(indices),
                                       view(input), adaptiveArguments()));
}

diopiError_t diopiAdaptiveMaxPool2dBackward(
    diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
    diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t /*input*/,
    diopiConstTensorHandle_t indices) {
  return done(dipu::kernels::maxPool2dBackward(
      queueOf(ctx), view(grad_input), view(grad_output), view(indices)));
}

diopiError_t diopiUpsampleNearest(diopiContextHandle_t ctx,
                                  diopiTensorHandle_t out,
                                  diopiConstTensorHandle_t input,
                                  diopiSize_t /*size*/) {
  return done(
      dipu::kernels::upsampleNearest(queueOf(ctx), view(out), view(input)));
}

diopiError_t diopiUpsampleNearestBackward(diopiContextHandle_t ctx,
                                          diopiTensorHandle_t grad_input,
                                          diopiConstTensorHandle_t grad_output,
                                          diopiSize_t /*out_size*/,
                                          diopiSize_t /*in_size*/) {
  return done(dipu::kernels::upsampleNearestBackward(
      queueOf(ctx), view(grad_input), view(grad_output)));
}

}  // extern "C"
