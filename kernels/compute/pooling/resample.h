// SPDX-License-Identifier: Apache-2.0
//
// Images of another size: interpolation between the pixels of a source.
//
// Tensors are [N, C, ...] with one to three spatial dimensions, in any layout;
// row-major and channels-last ones are used as they are. Types are float32,
// float64, float16 and bfloat16 (computed in float32); the nearest pixel also
// of uint8. Every function enqueues and returns.
#pragma once

#include <array>

#include "kernels/compute/queue.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

// kNearestExact takes the pixel under the centre of the result's pixel,
// kNearest the one under its corner. kLanczos needs antialias.
enum class Interpolation { kNearest, kNearestExact, kLinear, kCubic, kLanczos };

struct ResampleArguments {
  Interpolation mode = Interpolation::kNearest;
  // Whether the centres of the first and last pixels coincide, not the edges.
  bool align_corners = false;
  // Whether filters widen when the image shrinks.
  bool antialias = false;
  // Pixels of the result per pixel of the source along depth, height and
  // width; 0 stands for the quotient of the sizes.
  std::array<double, 3> scales{0, 0, 0};
};

Status resample(const Queue& queue, const TensorView& out,
                const TensorView& input, const ResampleArguments& arguments);
// Each element of the source gets the weighted sum of the gradients of the
// elements that were made of it.
Status resampleBackward(const Queue& queue, const TensorView& grad_input,
                        const TensorView& grad_output,
                        const ResampleArguments& arguments);

}  // namespace dipu::kernels
