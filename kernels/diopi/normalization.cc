// SPDX-License-Identifier: Apache-2.0
//
// DIOPI's normalizations.
#include <diopi/functions.h>
#include <diopi/functions_dipu.h>

#include "kernels/compute/normalization/batch_norm.h"
#include "kernels/compute/normalization/group_norm.h"
#include "kernels/compute/normalization/layer_norm.h"
#include "kernels/diopi/tensor_args.h"

using dipu::kernels::diopi::done;
using dipu::kernels::diopi::queueOf;
using dipu::kernels::diopi::view;

extern "C" {

diopiError_t diopiLayerNorm(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                            diopiTensorHandle_t save_mean,
                            diopiTensorHandle_t save_invstd,
                            diopiConstTensorHandle_t input,
                            diopiConstTensorHandle_t weight,
                            diopiConstTensorHandle_t bias,
                            diopiSize_t normalized_shape, double eps) {
  return done(dipu::kernels::layerNorm(
      queueOf(ctx), view(out), view(save_mean), view(save_invstd), view(input),
      view(weight), view(bias), normalized_shape.len, eps));
}

// `bias` is in DIOPI's signature; its gradient does not depend on it.
diopiError_t diopiLayerNormBackward(
    diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
    diopiTensorHandle_t grad_weight, diopiTensorHandle_t grad_bias,
    diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
    diopiConstTensorHandle_t weight, diopiConstTensorHandle_t /*bias*/,
    diopiConstTensorHandle_t mean, diopiConstTensorHandle_t rstd,
    diopiSize_t normalized_shape) {
  return done(dipu::kernels::layerNormBackward(
      queueOf(ctx), view(grad_input), view(grad_weight), view(grad_bias),
      view(grad_output), view(input), view(weight), view(mean), view(rstd),
      normalized_shape.len));
}

diopiError_t diopiGroupNorm(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                            diopiTensorHandle_t save_mean,
                            diopiTensorHandle_t save_invstd,
                            diopiConstTensorHandle_t input,
                            diopiConstTensorHandle_t weight,
                            diopiConstTensorHandle_t bias, int64_t num_groups,
                            double eps) {
  return done(dipu::kernels::groupNorm(
      queueOf(ctx), view(out), view(save_mean), view(save_invstd), view(input),
      view(weight), view(bias), num_groups, eps));
}

diopiError_t diopiGroupNormBackward(
    diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
    diopiTensorHandle_t grad_weight, diopiTensorHandle_t grad_bias,
    diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
    diopiConstTensorHandle_t weight, diopiConstTensorHandle_t mean,
    diopiConstTensorHandle_t rstd, int64_t num_groups) {
  return done(dipu::kernels::groupNormBackward(
      queueOf(ctx), view(grad_input), view(grad_weight), view(grad_bias),
      view(grad_output), view(input), view(weight), view(mean), view(rstd),
      num_groups));
}

diopiError_t diopiBatchNorm(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                            diopiTensorHandle_t save_mean,
                            diopiTensorHandle_t save_invstd,
                            diopiConstTensorHandle_t input,
                            diopiConstTensorHandle_t weight,
                            diopiConstTensorHandle_t bias,
                            diopiTensorHandle_t running_mean,
                            diopiTensorHandle_t running_var, bool training,
                            double momentum, double eps) {
  dipu::kernels::BatchNormArguments arguments;
  arguments.out = view(out);
  arguments.save_mean = view(save_mean);
  arguments.save_invstd = view(save_invstd);
  arguments.input = view(input);
  arguments.weight = view(weight);
  arguments.bias = view(bias);
  arguments.running_mean = view(running_mean);
  arguments.running_var = view(running_var);
  arguments.training = training;
  arguments.momentum = momentum;
  arguments.eps = eps;
  return done(dipu::kernels::batchNorm(queueOf(ctx), arguments));
}

diopiError_t diopiBatchNormStats(diopiContextHandle_t ctx,
                                 diopiTensorHandle_t mean,
                                 diopiTensorHandle_t invstd,
                                 diopiConstTensorHandle_t input, double eps) {
  dipu::kernels::BatchNormStatsArguments arguments{};
  arguments.mean = view(mean);
  arguments.spread = view(invstd);
  arguments.input = view(input);
  arguments.eps = eps;
  return done(dipu::kernels::batchNormStats(queueOf(ctx), arguments));
}

diopiError_t diopiExtBatchNormUpdateStats(
    diopiContextHandle_t ctx, diopiTensorHandle_t mean, diopiTensorHandle_t var,
    diopiConstTensorHandle_t input, diopiTensorHandle_t running_mean,
    diopiTensorHandle_t running_var, double momentum) {
  dipu::kernels::BatchNormStatsArguments arguments{};
  arguments.mean = view(mean);
  arguments.spread = view(var);
  arguments.input = view(input);
  arguments.running_mean = view(running_mean);
  arguments.running_var = view(running_var);
  arguments.variance = true;
  arguments.momentum = momentum;
  return done(dipu::kernels::batchNormStats(queueOf(ctx), arguments));
}

diopiError_t diopiBatchNormBackward(
    diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
    diopiTensorHandle_t grad_weight, diopiTensorHandle_t grad_bias,
    diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
    diopiConstTensorHandle_t weight, diopiConstTensorHandle_t running_mean,
    diopiConstTensorHandle_t running_var, diopiConstTensorHandle_t save_mean,
    diopiConstTensorHandle_t save_invstd, bool training, double eps) {
  dipu::kernels::BatchNormBackwardArguments arguments;
  arguments.grad_input = view(grad_input);
  arguments.grad_weight = view(grad_weight);
  arguments.grad_bias = view(grad_bias);
  arguments.grad_output = view(grad_output);
  arguments.input = view(input);
  arguments.weight = view(weight);
  arguments.running_mean = view(running_mean);
  arguments.running_var = view(running_var);
  arguments.save_mean = view(save_mean);
  arguments.save_invstd = view(save_invstd);
  arguments.training = training;
  arguments.eps = eps;
  return done(dipu::kernels::batchNormBackward(queueOf(ctx), arguments));
}

}  // extern "C"
