// SPDX-License-Identifier: Apache-2.0
//
// One element of each line by its rank: k-th smallest, median, mode.
//
// `values` (dtype of the input) and `indices` (int64 or int32) have size 1
// along `dim` or lack it; `indices` may be undefined. Lines have any strides
// and are not changed. NaN counts as the largest number. Among equal elements
// the first position is given, by mode the last one. A line without elements
// is kInvalid. Each call enqueues and returns.
#pragma once

#include "kernels/compute/queue.h"
#include "kernels/compute/status.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

// The k-th smallest element, counted from 1.
Status kthValue(const Queue& queue, const TensorView& values,
                const TensorView& indices, const TensorView& input, int64_t k,
                int64_t dim);

// The lower of two middle elements. A NaN in the line is its median, unless
// `ignore_nan`: then the median of the others, NaN if there are none.
Status median(const Queue& queue, const TensorView& values,
              const TensorView& indices, const TensorView& input, int64_t dim,
              bool ignore_nan);

// The most frequent element, the smallest of several.
Status mode(const Queue& queue, const TensorView& values,
            const TensorView& indices, const TensorView& input, int64_t dim);

}  // namespace dipu::kernels
