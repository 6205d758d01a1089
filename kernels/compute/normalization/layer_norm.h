// SPDX-License-Identifier: Apache-2.0
//
// Layer normalization: over the trailing dimensions of a tensor.
//
// The input, its gradient and the results are float32, float64, float16 or
// bfloat16 (computed in float32), of one dtype; weight, bias and statistics
// may have that dtype or the computing one. Weight and bias may be undefined.
// Views that are not dense are copied to scratch memory. Every function
// enqueues and returns; results do not depend on the number of threads.
#pragma once

#include "kernels/compute/queue.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

// Normalizes over the last `normalized_dims` dimensions. mean and rstd, the
// reciprocal of the standard deviation, have one element per remaining index;
// they are outputs that backward needs, and may be undefined.
Status layerNorm(const Queue& queue, const TensorView& out,
                 const TensorView& mean, const TensorView& rstd,
                 const TensorView& input, const TensorView& weight,
                 const TensorView& bias, int64_t normalized_dims, double eps);

// Each of the three outputs may be undefined and is then left out.
Status layerNormBackward(const Queue& queue, const TensorView& grad_input,
                         const TensorView& grad_weight,
                         const TensorView& grad_bias,
                         const TensorView& grad_output, const TensorView& input,
                         const TensorView& weight, const TensorView& mean,
                         const TensorView& rstd, int64_t normalized_dims);

}  // namespace dipu::kernels
