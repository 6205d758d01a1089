// SPDX-License-Identifier: Apache-2.0
//
// Connectionist temporal classification (Graves et al., 2006).
//
// `log_probs` holds log probabilities, [T, N, C], float32 or float64 of any
// strides. A sample's labels are interleaved with blanks; the sum over all
// alignments of these 2 L + 1 states with its time steps is taken forwards
// (alpha) and, for the gradient, backwards (beta). Labels outside [0, C) fail
// on the device, as an asynchronous error of the stream. Every function
// enqueues and returns; results do not depend on the number of threads.
#pragma once

#include "kernels/compute/loss/pair_loss.h"
#include "kernels/compute/queue.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

struct CtcArguments {
  TensorView log_probs;
  // int64 or int32: [N, S] padded, or all labels one after the other.
  TensorView targets;
  TensorView input_lengths;   // [N], at most T each; int64 or int32
  TensorView target_lengths;  // [N]; int64 or int32
  int64_t blank;
};

// `negative_log` [N] receives the loss of each sample, infinity if no alignment
// exists; `log_alpha` [N, T, 2 S + 1] what the gradient needs, S being at least
// the longest target.
Status ctcLoss(const Queue& queue, const TensorView& negative_log,
               const TensorView& log_alpha, const CtcArguments& arguments);

// `grad_output` is that of the loss after `reduction`, see ctcReduce. With
// `zero_infinity` samples without alignment have the gradient 0.
Status ctcLossBackward(const Queue& queue, const TensorView& grad_input,
                       const TensorView& grad_output,
                       const TensorView& negative_log,
                       const TensorView& log_alpha,
                       const CtcArguments& arguments, Reduction reduction,
                       bool zero_infinity);

// `out` is the losses themselves, their sum, or the mean of each loss divided
// by the length of its target, at least 1. With `zero_infinity` infinite losses
// count 0.
Status ctcReduce(const Queue& queue, const TensorView& out,
                 const TensorView& negative_log,
                 const TensorView& target_lengths, Reduction reduction,
                 bool zero_infinity);

}  // namespace dipu::kernels
