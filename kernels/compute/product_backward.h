// SPDX-License-Identifier: Apache-2.0
//
// Gradients of matrix products. Dtypes and strides as in gemm.h, floating
// only. Every function enqueues and returns; an undefined gradient is left
// out.
#pragma once

#include "kernels/compute/queue.h"
#include "kernels/compute/status.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

// Of a @ b with vectors, matrices and batches that broadcast.
Status matmulBackward(const Queue& queue, const TensorView& grad_a,
                      const TensorView& grad_b, const TensorView& grad,
                      const TensorView& a, const TensorView& b);

// Of input @ transpose(weight) + bias.
Status linearBackward(const Queue& queue, const TensorView& grad_input,
                      const TensorView& grad_weight,
                      const TensorView& grad_bias, const TensorView& grad,
                      const TensorView& input, const TensorView& weight);

}  // namespace dipu::kernels
