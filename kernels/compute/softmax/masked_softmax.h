// SPDX-License-Identifier: Apache-2.0
//
// The softmax of attention scores: scaled, with some of them left out.
//
// Types and strides as in softmax.h. Scores are [..., queries, keys]; the mask
// broadcasts to them, any dtype whose elements are 0 (kept) or not. Every
// function enqueues and returns.
#pragma once

#include "kernels/compute/queue.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

struct ScoreMask {
  // May be undefined; is not read with `triangle`.
  TensorView mask;
  // Leaves out the keys after a query's own position.
  bool triangle = false;
};

// out = softmax(scale * input) over the keys. A score that is left out counts
// as -10000, so it gets 0 unless all others of its query are as low.
Status maskedSoftmax(const Queue& queue, const TensorView& out,
                     const TensorView& input, const ScoreMask& mask,
                     double scale);

// Gradient of the input, 0 where it is left out.
Status maskedSoftmaxBackward(const Queue& queue, const TensorView& grad_input,
                             const TensorView& grad_output,
                             const TensorView& output, const ScoreMask& mask,
                             double scale);

}  // namespace dipu::kernels
