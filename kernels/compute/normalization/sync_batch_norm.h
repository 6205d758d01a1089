// SPDX-License-Identifier: Apache-2.0
//
// The parts of a batch normalization whose statistics come from several
// devices; the input is [N, C, ...], statistics have one entry per channel.
//
// Inputs and gradients are float32, float64, float16 or bfloat16 (computed in
// float32) with any strides; weight and bias may be undefined. Every function
// enqueues and returns; results do not depend on the number of threads.
#pragma once

#include "kernels/compute/queue.h"
#include "kernels/compute/status.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

// out = (input - mean) * invstd * weight + bias.
Status syncNormalize(const Queue& queue, const TensorView& out,
                     const TensorView& input, const TensorView& weight,
                     const TensorView& bias, const TensorView& mean,
                     const TensorView& invstd);

// Joins the means and reciprocal deviations, [devices, C], of `counts` elements
// each, and moves the running statistics, which may be undefined, towards them.
struct GatherStatsArguments {
  TensorView mean;
  TensorView invstd;
  TensorView running_mean;
  TensorView running_var;
  TensorView mean_all;
  TensorView invstd_all;
  TensorView counts;
  double momentum;
  double eps;
};
Status gatherStats(const Queue& queue, const GatherStatsArguments& arguments);

// The sums over a channel of the gradient, and of its product with input -
// mean; from these the gradients of weight and bias. Each output may be
// undefined.
struct ReduceGradientArguments {
  TensorView sum_dy;
  TensorView sum_dy_xmu;
  TensorView grad_weight;
  TensorView grad_bias;
  TensorView grad;
  TensorView input;
  TensorView mean;
  TensorView invstd;
};
Status reduceGradient(const Queue& queue,
                      const ReduceGradientArguments& arguments);

// The gradient of the input, from sums over all devices; `counts` are the
// elements of a channel on each of them.
struct SyncBackwardArguments {
  TensorView grad_input;
  TensorView grad;
  TensorView input;
  TensorView mean;
  TensorView invstd;
  TensorView weight;
  TensorView sum_dy;
  TensorView sum_dy_xmu;
  TensorView counts;
};
Status syncNormalizeBackward(const Queue& queue,
                             const SyncBackwardArguments& arguments);

}  // namespace dipu::kernels
