// SPDX-License-Identifier: Apache-2.0
//
// Convolution of two and three dimensions, and its transpose.
//
// Images are [N, C, H, W] or [N, C, D, H, W], weights [K, C / groups, ...], in
// row-major or channels-last layout; other views are copied to scratch memory.
// All tensors of a call have one dtype: float32 runs in oneDNN, float16 and
// bfloat16 as float32, float64 as matrix products. `bias` may be undefined.
//
// The first call for a shape prepares the kernel for it on the calling thread,
// which may take milliseconds; later ones only enqueue.
#pragma once

#include <array>

#include "kernels/compute/queue.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

// One value per spatial dimension, in their order; images of two dimensions use
// the first two.
struct ConvolutionArguments {
  std::array<int64_t, 3> stride{1, 1, 1};
  std::array<int64_t, 3> padding{0, 0, 0};
  std::array<int64_t, 3> dilation{1, 1, 1};
  int64_t groups = 1;
};

Status convolve(const Queue& queue, const TensorView& out,
                const TensorView& input, const TensorView& weight,
                const TensorView& bias, const ConvolutionArguments& arguments);

// Each of the three outputs may be undefined and is then left out.
Status convolveBackward(const Queue& queue, const TensorView& grad_input,
                        const TensorView& grad_weight,
                        const TensorView& grad_bias,
                        const TensorView& grad_output, const TensorView& input,
                        const TensorView& weight,
                        const ConvolutionArguments& arguments);

// The transpose takes an image of the convolution's result to one of its input.
// Weights are those of that convolution: [channels of the input, channels of
// the result / groups, ...]. The size of `out` says how much of the padding at
// the end belongs to it.
Status convolveTransposed(const Queue& queue, const TensorView& out,
                          const TensorView& input, const TensorView& weight,
                          const TensorView& bias,
                          const ConvolutionArguments& arguments);
Status convolveTransposedBackward(
    const Queue& queue, const TensorView& grad_input,
    const TensorView& grad_weight, const TensorView& grad_bias,
    const TensorView& grad_output, const TensorView& input,
    const TensorView& weight, const ConvolutionArguments& arguments);

}  // namespace dipu::kernels
