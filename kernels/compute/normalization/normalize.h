// SPDX-License-Identifier: Apache-2.0
//
// Division of a tensor's lines by their norms.
//
// Tensors are float32, float64, float16 or bfloat16 (computed in float32), of
// one dtype and shape, with any strides. `dim` may be negative. Every function
// enqueues and returns.
#pragma once

#include "kernels/compute/queue.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

// out = input / max(norm, eps), the norm being (sum of |x|^p)^(1/p) along
// `dim`; p is above 0 and may be infinite.
Status normalize(const Queue& queue, const TensorView& out,
                 const TensorView& input, double p, int64_t dim, double eps);

Status normalizeBackward(const Queue& queue, const TensorView& grad_input,
                         const TensorView& grad_output, const TensorView& input,
                         double p, int64_t dim, double eps);

}  // namespace dipu::kernels
