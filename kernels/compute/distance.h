// SPDX-License-Identifier: Apache-2.0
//
// p-norm distances between rows of points, and their gradients.
//
// Floating tensors of any strides; float16 and bfloat16 are computed in
// float32. p is 0 (the number of differing coordinates), a positive number or
// infinity. Each call enqueues and returns; results do not depend on threads.
#pragma once

#include "kernels/compute/queue.h"
#include "kernels/compute/status.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

// out[..., i, j] = |a[..., i, :] - b[..., j, :]|; a is [..., m, width], b is
// [..., n, width], and leading dimensions broadcast to those of `out`.
Status cdist(const Queue& queue, const TensorView& out, const TensorView& a,
             const TensorView& b, double p);
// The gradient of `a`, with the leading dimensions of `distances`.
Status cdistBackward(const Queue& queue, const TensorView& grad_a,
                     const TensorView& grad_output, const TensorView& a,
                     const TensorView& b, const TensorView& distances,
                     double p);

// The distances of all pairs i < j of the rows of `a`, [n, width]; `out` has
// n (n - 1) / 2 elements, pairs (0, 1), (0, 2), ... first.
Status pdist(const Queue& queue, const TensorView& out, const TensorView& a,
             double p);
Status pdistBackward(const Queue& queue, const TensorView& grad_a,
                     const TensorView& grad_output, const TensorView& a,
                     const TensorView& distances, double p);

}  // namespace dipu::kernels
