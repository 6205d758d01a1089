// SPDX-License-Identifier: Apache-2.0
//
// DIOPI's parts of a batch normalization over several devices.
#include "kernels/compute/normalization/sync_batch_norm.h"

#include <diopi/functions.h>

#include "kernels/diopi/tensor_args.h"

using namespace dipu::kernels;         // NOLINT(build/namespaces)
using namespace dipu::kernels::diopi;  // NOLINT(build/namespaces)

extern "C" {

// invstd holds eps already.
diopiError_t diopiBatchNormElemt(
    diopiContextHandle_t ctx, diopiTensorHandle_t out,
    diopiConstTensorHandle_t input, diopiConstTensorHandle_t weight,
    diopiConstTensorHandle_t bias, diopiConstTensorHandle_t mean,
    diopiConstTensorHandle_t invstd, float /*eps*/) {
  return done(syncNormalize(queueOf(ctx), view(out), view(input), view(weight),
                            view(bias), view(mean), view(invstd)));
}

// `input` tells a dtype that the statistics have by themselves.
diopiError_t diopiBatchNormGatherStatsWithCounts(
    diopiContextHandle_t ctx, diopiTensorHandle_t mean,
    diopiTensorHandle_t invstd, diopiConstTensorHandle_t /*input*/,
    diopiConstTensorHandle_t mean_all, diopiConstTensorHandle_t invstd_all,
    diopiTensorHandle_t running_mean, diopiTensorHandle_t running_var,
    float momentum, float eps, diopiConstTensorHandle_t counts) {
  return done(gatherStats(
      queueOf(ctx),
      {view(mean), view(invstd), view(running_mean), view(running_var),
       view(mean_all), view(invstd_all), view(counts), momentum, eps}));
}

diopiError_t diopiBatchNormBackwardReduce(
    diopiContextHandle_t ctx, diopiTensorHandle_t sum_dy,
    diopiTensorHandle_t sum_dy_xmu, diopiTensorHandle_t grad_weight,
    diopiTensorHandle_t grad_bias, diopiConstTensorHandle_t grad_out,
    diopiConstTensorHandle_t input, diopiConstTensorHandle_t mean,
    diopiConstTensorHandle_t invstd, diopiConstTensorHandle_t /*weight*/,
    bool input_g, bool weight_g, bool bias_g) {
  const auto wanted = [](bool want, diopiTensorHandle_t tensor) {
    return want ? view(tensor) : TensorView();
  };
  return done(reduceGradient(
      queueOf(ctx), {wanted(input_g, sum_dy), wanted(input_g, sum_dy_xmu),
                     wanted(weight_g, grad_weight), wanted(bias_g, grad_bias),
                     view(grad_out), view(input), view(mean), view(invstd)}));
}

diopiError_t diopiBatchNormBackwardElemt(
    diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
    diopiConstTensorHandle_t grad_out, diopiConstTensorHandle_t input,
    diopiConstTensorHandle_t mean, diopiConstTensorHandle_t invstd,
    diopiConstTensorHandle_t weight, diopiConstTensorHandle_t sum_dy,
    diopiConstTensorHandle_t sum_dy_xmu, diopiConstTensorHandle_t count) {
  return done(syncNormalizeBackward(
      queueOf(ctx),
      {view(grad_input), view(grad_out), view(input), view(mean), view(invstd),
       view(weight), view(sum_dy), view(sum_dy_xmu), view(count)}));
}

}  // extern "C"
