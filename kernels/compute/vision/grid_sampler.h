// SPDX-License-Identifier: Apache-2.0
//
// Images read at places between their pixels.
//
// `input` is [N, C, H, W] or [N, C, D, H, W]; `grid` is [N, places..., 2 or 3]
// and holds x, y(, z), -1 and 1 being the borders of the image. Floating
// tensors of any strides; float16 and bfloat16 are computed in float32. Each
// call enqueues and returns; results do not depend on the number of threads.
#pragma once

#include "kernels/compute/queue.h"
#include "kernels/compute/status.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

// Numbered like torch's modes. kCubic is for [N, C, H, W].
enum class GridInterpolation : int64_t {
  kLinear = 0,
  kNearest = 1,
  kCubic = 2
};
// What lies outside of the image.
enum class GridPadding : int64_t { kZeros = 0, kBorder = 1, kReflection = 2 };

struct GridOptions {
  GridInterpolation interpolation;
  GridPadding padding;
  // Whether -1 and 1 are the centres of the outermost pixels, or their edges.
  bool align_corners;
};

// `out` is [N, C, places...].
Status gridSample(const Queue& queue, const TensorView& out,
                  const TensorView& input, const TensorView& grid,
                  const GridOptions& options);

Status gridSampleBackward(const Queue& queue, const TensorView& grad_input,
                          const TensorView& grad_grid,
                          const TensorView& grad_output,
                          const TensorView& input, const TensorView& grid,
                          const GridOptions& options);

}  // namespace dipu::kernels
