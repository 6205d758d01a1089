// SPDX-License-Identifier: Apache-2.0
//
// Group normalization: statistics of each sample over groups of channels.
//
// The input is [N, C, ...] with C a multiple of the number of groups. Types,
// optional tensors and memory are as in layer_norm.h; mean and rstd have N *
// groups elements. Every function enqueues and returns; results do not depend
// on the number of threads.
#pragma once

#include "kernels/compute/queue.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

Status groupNorm(const Queue& queue, const TensorView& out,
                 const TensorView& mean, const TensorView& rstd,
                 const TensorView& input, const TensorView& weight,
                 const TensorView& bias, int64_t groups, double eps);

// Each of the three outputs may be undefined and is then left out.
Status groupNormBackward(const Queue& queue, const TensorView& grad_input,
                         const TensorView& grad_weight,
                         const TensorView& grad_bias,
                         const TensorView& grad_output, const TensorView& input,
                         const TensorView& weight, const TensorView& mean,
                         const TensorView& rstd, int64_t groups);

}  // namespace dipu::kernels
