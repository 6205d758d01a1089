// SPDX-License-Identifier: Apache-2.0
//
// Negative log likelihood of class numbers.
//
// The input holds log probabilities, [C], [N, C] or [N, C, ...] with one
// target per remaining index, int64 or uint8. Types: float32, float64, float16
// and bfloat16. `weight` holds one factor per class and may be undefined.
// Targets equal to `ignore_index` count nothing; a target outside [0, C) fails
// on the device, as an asynchronous error of the stream. Every function
// enqueues and returns; results do not depend on the number of threads.
#pragma once

#include "kernels/compute/loss/pair_loss.h"
#include "kernels/compute/queue.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

struct NllArguments {
  TensorView input;
  TensorView target;
  TensorView weight;
  Reduction reduction;
  int64_t ignore_index;
};

// `total_weight` receives the sum of the weights that counted, 0 without
// reduction; it may be undefined.
Status nllLoss(const Queue& queue, const TensorView& out,
               const TensorView& total_weight, const NllArguments& arguments);

// `arguments.input` gives the shape only. An undefined `total_weight` is summed
// anew.
Status nllLossBackward(const Queue& queue, const TensorView& grad_input,
                       const TensorView& grad_output,
                       const TensorView& total_weight,
                       const NllArguments& arguments);

}  // namespace dipu::kernels
