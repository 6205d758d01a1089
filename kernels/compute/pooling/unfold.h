// SPDX-License-Identifier: Apache-2.0
//
// Windows of a tensor as tensors of their own, and their sums.
//
// Any layout. Functions that add take floating types, the others any dtype.
// Every function enqueues and returns.
#pragma once

#include <cstdint>

#include "kernels/compute/pooling/pool.h"
#include "kernels/compute/queue.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

// Columns of an image: `image` is [N, C, H, W] or [C, H, W], `columns`
// [N, C * kernel height * kernel width, windows] or without N; one column per
// window, zero in the padding.
Status imageToColumns(const Queue& queue, const TensorView& columns,
                      const TensorView& image, const PoolArguments& arguments);
// The sum of the windows at their places.
Status columnsToImage(const Queue& queue, const TensorView& image,
                      const TensorView& columns,
                      const PoolArguments& arguments);

// Windows of `size` elements, `step` apart, along `dim`, as a last dimension.
Status unfoldDimension(const Queue& queue, const TensorView& out,
                       const TensorView& input, int64_t dim, int64_t size,
                       int64_t step);
// The sum of the windows at their places, zero between them.
Status unfoldDimensionBackward(const Queue& queue, const TensorView& grad_input,
                               const TensorView& grad_output, int64_t dim,
                               int64_t size, int64_t step);

}  // namespace dipu::kernels
