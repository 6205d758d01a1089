// SPDX-License-Identifier: Apache-2.0
//
// Optimizer steps.
//
// The tensors of one parameter have one floating dtype, one shape and one
// dense layout; otherwise the step is kUnsupported and nothing is enqueued.
// float16 and bfloat16 are computed in float32. Any number of parameters is
// one piece of work. Every function enqueues and returns.
#pragma once

#include <cstddef>

#include "kernels/compute/queue.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

struct AdamOptions {
  double lr;
  double beta1;
  double beta2;
  double eps;
  double weight_decay;
  bool decoupled;  // AdamW: decay the parameter, not the gradient
  bool amsgrad;
  bool maximize;
};

struct AdamParameter {
  TensorView parameter;
  TensorView gradient;
  TensorView exp_avg;
  TensorView exp_avg_sq;
  TensorView max_exp_avg_sq;  // of amsgrad, else undefined
  TensorView step;            // scalar: number of this step, from 1
};

// Steps are read when the work runs. With `fixed_step` above 0 it is the
// number of the step, and AdamParameter::step is not used.
Status adam(const Queue& queue, const AdamParameter* parameters,
            std::size_t count, const AdamOptions& options, int64_t fixed_step);

struct SgdOptions {
  double lr;
  double momentum;
  double dampening;
  double weight_decay;
  bool nesterov;
};

// `buffer` may be undefined without momentum.
Status sgd(const Queue& queue, const TensorView& parameter,
           const TensorView& gradient, const TensorView& buffer,
           const SgdOptions& options);

}  // namespace dipu::kernels
