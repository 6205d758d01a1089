// SPDX-License-Identifier: Apache-2.0
//
// The focal loss of sigmoid(input): the entropy of each element times (1 -
// p_t)^gamma, p_t being the probability of the target, and times alpha for the
// share of class 1 in the target and 1 - alpha for that of class 0.
//
// Types, strides and threads as in pair_loss.h; input and target have one
// shape. A negative alpha weighs no class. Every function enqueues and returns.
#pragma once

#include "kernels/compute/loss/pair_loss.h"
#include "kernels/compute/queue.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

struct FocalLossArguments {
  TensorView input;
  TensorView target;
  double alpha;
  double gamma;
  Reduction reduction;
};

Status focalLoss(const Queue& queue, const TensorView& out,
                 const FocalLossArguments& arguments);
// `grad_output` has the shape of the loss.
Status focalLossBackward(const Queue& queue, const TensorView& grad_input,
                         const TensorView& grad_output,
                         const FocalLossArguments& arguments);

}  // namespace dipu::kernels
