// SPDX-License-Identifier: Apache-2.0
//
// Margin losses of class scores, [C] or [N, C].
//
// Types: float32, float64, float16 and bfloat16 of any strides; targets are
// int64. A target outside [0, C) fails on the device, as an asynchronous error
// of the stream. Every function enqueues and returns; results do not depend on
// the number of threads.
#pragma once

#include "kernels/compute/loss/pair_loss.h"
#include "kernels/compute/queue.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

// For a sample of class t: the mean over the classes c of
// weight[t] * max(0, margin - x[t] + x[c])^p, where c = t counts 0.
struct MultiMarginArguments {
  TensorView input;
  TensorView target;  // one per sample
  TensorView weight;  // one per class; may be undefined
  double margin;
  int64_t p;  // 1 or 2
  Reduction reduction;
};

Status multiMarginLoss(const Queue& queue, const TensorView& out,
                       const MultiMarginArguments& arguments);
Status multiMarginLossBackward(const Queue& queue, const TensorView& grad_input,
                               const TensorView& grad_output,
                               const MultiMarginArguments& arguments);

// For a sample whose targets are the classes before the first negative number
// of its row: the sum of max(0, 1 - x[t] + x[c]) over targets t and classes c
// that are none, divided by C.
struct MultiLabelMarginArguments {
  TensorView input;
  TensorView target;  // of the shape of the input
  Reduction reduction;
};

// `is_target` has the shape of the input and receives 1 for targets, else 0.
Status multiLabelMarginLoss(const Queue& queue, const TensorView& out,
                            const TensorView& is_target,
                            const MultiLabelMarginArguments& arguments);
Status multiLabelMarginLossBackward(const Queue& queue,
                                    const TensorView& grad_input,
                                    const TensorView& grad_output,
                                    const TensorView& is_target,
                                    const MultiLabelMarginArguments& arguments);

}  // namespace dipu::kernels
