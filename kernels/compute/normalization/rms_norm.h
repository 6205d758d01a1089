// SPDX-License-Identifier: Apache-2.0
//
// Root-mean-square normalization over the trailing dimensions of a tensor: x /
// sqrt(mean(x^2) + eps) * weight + bias.
//
// Types, optional tensors, memory and threads are as in layer_norm.h.
#pragma once

#include "kernels/compute/queue.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

// inv_rms, one element per remaining index, is an output that backward needs;
// it may be undefined.
Status rmsNorm(const Queue& queue, const TensorView& out,
               const TensorView& inv_rms, const TensorView& input,
               const TensorView& weight, const TensorView& bias,
               int64_t normalized_dims, double eps);

// Each of the three outputs may be undefined and is then left out.
Status rmsNormBackward(const Queue& queue, const TensorView& grad_input,
                       const TensorView& grad_weight,
                       const TensorView& grad_bias,
                       const TensorView& grad_output, const TensorView& input,
                       const TensorView& weight, const TensorView& inv_rms,
                       int64_t normalized_dims);

}  // namespace dipu::kernels
