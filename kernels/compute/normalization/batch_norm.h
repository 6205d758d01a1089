// SPDX-License-Identifier: Apache-2.0
//
// Batch normalization: statistics of each channel over all other dimensions.
//
// The input is [N, C] or [N, C, ...] in any layout; row-major and channels-last
// views are used as they are. It, its gradient and the results are float32,
// float64, float16 or bfloat16 (computed in float32), of one dtype; the
// per-channel tensors may have that dtype or the computing one. Weight, bias
// and running statistics may be undefined. Every function enqueues and returns;
// results do not depend on the number of threads.
#pragma once

#include "kernels/compute/queue.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

// Training: normalizes by the statistics of the batch, writes them to save_mean
// and save_invstd, and moves the running ones: running = (1 - momentum) *
// running + momentum * batch, with the unbiased variance. Evaluation:
// normalizes by the running statistics; save_mean and save_invstd are not used.
struct BatchNormArguments {
  TensorView out;
  TensorView save_mean;
  TensorView save_invstd;
  TensorView input;
  TensorView weight;
  TensorView bias;
  TensorView running_mean;
  TensorView running_var;
  bool training;
  double momentum;
  double eps;
};
Status batchNorm(const Queue& queue, const BatchNormArguments& arguments);

// Training without its result: statistics only. Writes the mean and the
// reciprocal deviation of the batch, or with `variance` its biased variance,
// and moves the running statistics, if there are any.
struct BatchNormStatsArguments {
  TensorView mean;
  TensorView spread;
  TensorView input;
  TensorView running_mean;
  TensorView running_var;
  bool variance;
  double momentum;
  double eps;
};
Status batchNormStats(const Queue& queue,
                      const BatchNormStatsArguments& arguments);

// Each of the gradients may be undefined and is then left out. Training uses
// the saved statistics, evaluation the running ones.
struct BatchNormBackwardArguments {
  TensorView grad_input;
  TensorView grad_weight;
  TensorView grad_bias;
  TensorView grad_output;
  TensorView input;
  TensorView weight;
  TensorView running_mean;
  TensorView running_var;
  TensorView save_mean;
  TensorView save_invstd;
  bool training;
  double eps;
};
Status batchNormBackward(const Queue& queue,
                         const BatchNormBackwardArguments& arguments);

}  // namespace dipu::kernels
