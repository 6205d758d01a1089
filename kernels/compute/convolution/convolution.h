// SPDX-License-Identifier: Apache-2.0
//
// Two-dimensional convolution.
//
// Images are [N, C, H, W], weights [K, C / groups, R, S], in row-major or
// channels-last layout; other views are copied to scratch memory. All tensors
// of a call have one dtype: float32 runs in oneDNN, float16 and bfloat16 as
// float32, float64 as matrix products. `bias` may be undefined.
//
// The first call for a shape prepares the kernel for it on the calling thread,
// which may take milliseconds; later ones only enqueue.
#pragma once

#include <array>

#include "kernels/compute/queue.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

struct ConvolutionArguments {
  std::array<int64_t, 2> stride{1, 1};
  std::array<int64_t, 2> padding{0, 0};
  std::array<int64_t, 2> dilation{1, 1};
  int64_t groups = 1;
};

Status convolution2d(const Queue& queue, const TensorView& out,
                     const TensorView& input, const TensorView& weight,
                     const TensorView& bias,
                     const ConvolutionArguments& arguments);

// Each of the three outputs may be undefined and is then left out.
Status convolution2dBackward(const Queue& queue, const TensorView& grad_input,
                             const TensorView& grad_weight,
                             const TensorView& grad_bias,
                             const TensorView& grad_output,
                             const TensorView& input, const TensorView& weight,
                             const ConvolutionArguments& arguments);

}  // namespace dipu::kernels
