// SPDX-License-Identifier: Apache-2.0
//
// Enlarging images by repeating the nearest pixel.
//
// Tensors are [N, C, ...] with one to three spatial dimensions, float32,
// float64, float16 or bfloat16, in any layout. Every function enqueues and
// returns.
#pragma once

#include "kernels/compute/queue.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

// Element i of an axis of `out` is element floor(i * in / out) of the input's.
Status upsampleNearest(const Queue& queue, const TensorView& out,
                       const TensorView& input);
// Each element of the input gets the sum of the gradients of its copies.
Status upsampleNearestBackward(const Queue& queue, const TensorView& grad_input,
                               const TensorView& grad_output);

}  // namespace dipu::kernels
