// SPDX-License-Identifier: Apache-2.0
//
// Activation functions and their derivatives on floating tensors; relu,
// sigmoid and tanh themselves are in unary.h. Inputs broadcast to the output,
// which may be one of them. Each call enqueues and returns.
#pragma once

#include "kernels/compute/queue.h"
#include "kernels/compute/status.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

// `tanh` chooses the approximation by tanh instead of erf.
Status gelu(const Queue& queue, const TensorView& out, const TensorView& input,
            bool tanh);
Status geluBackward(const Queue& queue, const TensorView& grad_input,
                    const TensorView& grad_output, const TensorView& input,
                    bool tanh);

Status silu(const Queue& queue, const TensorView& out, const TensorView& input);
Status siluBackward(const Queue& queue, const TensorView& grad_input,
                    const TensorView& grad_output, const TensorView& input);

// These two take the result of the forward function.
Status tanhBackward(const Queue& queue, const TensorView& grad_input,
                    const TensorView& grad_output, const TensorView& output);
Status sigmoidBackward(const Queue& queue, const TensorView& grad_input,
                       const TensorView& grad_output, const TensorView& output);

Status leakyRelu(const Queue& queue, const TensorView& out,
                 const TensorView& input, const Scalar& slope);
// `input` may be the result of the forward function if the slope is positive.
Status leakyReluBackward(const Queue& queue, const TensorView& grad_input,
                         const TensorView& grad_output, const TensorView& input,
                         const Scalar& slope);

Status hardtanhBackward(const Queue& queue, const TensorView& grad_input,
                        const TensorView& grad_output, const TensorView& input,
                        const Scalar& low, const Scalar& high);

Status hardswish(const Queue& queue, const TensorView& out,
                 const TensorView& input);
Status hardswishBackward(const Queue& queue, const TensorView& grad_input,
                         const TensorView& grad_output,
                         const TensorView& input);

// out = input > threshold ? input : value; NaN stays. Any type.
Status threshold(const Queue& queue, const TensorView& out,
                 const TensorView& input, const Scalar& threshold,
                 const Scalar& value);
// grad_input = input > threshold ? grad_output : 0; the gradient passes where
// the input is NaN. Any type.
Status thresholdBackward(const Queue& queue, const TensorView& grad_input,
                         const TensorView& grad_output, const TensorView& input,
                         const Scalar& threshold);

}  // namespace dipu::kernels
