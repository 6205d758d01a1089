// SPDX-License-Identifier: Apache-2.0
//
// Softmax and its logarithm along one dimension.
//
// Tensors are float32, float64, float16 or bfloat16 (computed in float32), all
// of one dtype and shape, with any strides; other dtypes give kUnsupported.
// `dim` may be negative. Every function enqueues and returns.
#pragma once

#include "kernels/compute/queue.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

enum class SoftmaxKind { kPlain, kLog };

// out = softmax(input) or log(softmax(input)).
Status softmax(const Queue& queue, SoftmaxKind kind, const TensorView& out,
               const TensorView& input, int64_t dim);

// Gradient of the input, from the gradient and the result of the forward pass.
Status softmaxBackward(const Queue& queue, SoftmaxKind kind,
                       const TensorView& grad_input,
                       const TensorView& grad_output, const TensorView& output,
                       int64_t dim);

}  // namespace dipu::kernels
