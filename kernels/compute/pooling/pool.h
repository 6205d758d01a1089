// SPDX-License-Identifier: Apache-2.0
//
// Pooling over windows of an image of one to three dimensions.
//
// Tensors are [N, C, ...] or [C, ...], float32, float64, float16 or bfloat16
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

// Images of fewer than three dimensions leave out depth, then height.
struct PoolArguments {
  int32_t dimensions = 2;  // of an image, without samples and channels
  PoolAxis depth;
  PoolAxis height;
  PoolAxis width;
  bool adaptive = false;
  bool count_include_pad = true;  // averages count padding as zeros
  int64_t divisor = 0;            // of averages; 0 is the size of the window
};

// The largest element of each window; NaN wins. `indices`, int64 of the shape
// of `out`, receives its position in the image, (d * H + h) * W + w, and may be
// undefined.
Status maxPool(const Queue& queue, const TensorView& out,
               const TensorView& indices, const TensorView& input,
               const PoolArguments& arguments);
Status maxPoolBackward(const Queue& queue, const TensorView& grad_input,
                       const TensorView& grad_output, const TensorView& indices,
                       int32_t dimensions);

// The average of each window. Dilation is 1.
Status avgPool(const Queue& queue, const TensorView& out,
               const TensorView& input, const PoolArguments& arguments);
Status avgPoolBackward(const Queue& queue, const TensorView& grad_input,
                       const TensorView& grad_output,
                       const PoolArguments& arguments);

}  // namespace dipu::kernels
