// SPDX-License-Identifier: Apache-2.0
//
// The gradient of a norm.
#pragma once

#include "kernels/compute/queue.h"
#include "kernels/compute/reduce.h"
#include "kernels/compute/status.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

// Gradient of input for norm = (sum over dims of |input|^p)^(1/p); floating.
// `grad` and `norm` have size 1 along `dims` or lack them. A norm of 0 gives 0,
// and elements that share the largest or smallest magnitude share its
// gradient. Enqueues and returns.
Status normBackward(const Queue& queue, const TensorView& grad_input,
                    const TensorView& grad, const TensorView& input,
                    const TensorView& norm, double p, const Dims& dims);

}  // namespace dipu::kernels
