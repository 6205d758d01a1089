// SPDX-License-Identifier: Apache-2.0
//
// Boxes of objects in images: choosing among them, and reading features out of
// them. Corners are x1, y1, x2, y2. Floating tensors of any strides; float16
// and bfloat16 are computed in float32. Results do not depend on the number of
// threads.
#pragma once

#include "kernels/compute/queue.h"
#include "kernels/compute/status.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

// Boxes, [n, 4], by falling score, [n], without those whose intersection with
// an earlier one that stays is more than `threshold` of their union. `kept`
// ([n], int64, dense) gets their positions first, `out_count` their number.
// Waits for the stream.
Status nonMaximumSuppression(const Queue& queue, const TensorView& kept,
                             const TensorView& boxes, const TensorView& scores,
                             double threshold, int64_t* out_count);

struct RoiOptions {
  double scale;      // of image coordinates to those of features
  int64_t sampling;  // points per bin and direction; 0 or less: by the box
  bool aligned;      // whether pixels have their centres at half coordinates
};

// The mean of interpolated points in each of a grid of bins of a box: out is
// [boxes, channels, bins, bins], input [batch, channels, height, width]; boxes
// are [boxes, 5], the number of the image and corners. An image that does not
// exist, or a bin of more than 2^24 points, fails on the device. Enqueues and
// returns.
Status roiAlign(const Queue& queue, const TensorView& out,
                const TensorView& input, const TensorView& boxes,
                const RoiOptions& options);
Status roiAlignBackward(const Queue& queue, const TensorView& grad_input,
                        const TensorView& grad, const TensorView& boxes,
                        const RoiOptions& options);

}  // namespace dipu::kernels
