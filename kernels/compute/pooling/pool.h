// SPDX-License-Identifier: Apache-2.0
//
// Pooling over windows of an image.
//
// Tensors are [N, C, H, W] or [C, H, W], float32, float64, float16 or bfloat16
// (computed in float32). Row-major and channels-last images are used as they
// are, others are copied to scratch memory first. Every function enqueues and
// returns; results do not depend on the number of threads.
#pragma once

#include "kernels/compute/queue.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

// Windows along one dimension. The number of windows is the size of the
// result; adaptive ones divide the input evenly and ignore the other fields.
struct PoolAxis {
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t padding = 0;
  int64_t dilation = 1;
};

struct PoolArguments {
  PoolAxis height;
  PoolAxis width;
  bool adaptive = false;
  bool count_include_pad = true;  // averages count padding as zeros
  int64_t divisor = 0;            // of averages; 0 is the size of the window
};

// The largest element of each window; NaN wins. `indices`, int64 of the shape
// of `out`, receives its position h * W + w and may be undefined.
Status maxPool2d(const Queue& queue, const TensorView& out,
                 const TensorView& indices, const TensorView& input,
                 const PoolArguments& arguments);
Status maxPool2dBackward(const Queue& queue, const TensorView& grad_input,
                         const TensorView& grad_output,
                         const TensorView& indices);

// The average of each window. Dilation is 1.
Status avgPool2d(const Queue& queue, const TensorView& out,
                 const TensorView& input, const PoolArguments& arguments);
Status avgPool2dBackward(const Queue& queue, const TensorView& grad_input,
                         const TensorView& grad_output,
                         const PoolArguments& arguments);

}  // namespace dipu::kernels
