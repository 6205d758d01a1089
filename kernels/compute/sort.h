// SPDX-License-Identifier: Apache-2.0
//
// Sorting along one dimension. NaN counts as the largest number and -0 equals
// 0. Any dtype and strides; each call enqueues and returns.
#pragma once

#include "kernels/compute/queue.h"
#include "kernels/compute/status.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

// Stable. `values` has the dtype and sizes of `input`, and may be undefined;
// `indices` (int64 or int32) are positions in the input.
Status sort(const Queue& queue, const TensorView& values,
            const TensorView& indices, const TensorView& input, int64_t dim,
            bool descending);

// The k largest or smallest elements, in order. Among equal ones those that
// come first are taken.
Status topk(const Queue& queue, const TensorView& values,
            const TensorView& indices, const TensorView& input, int64_t k,
            int64_t dim, bool largest);

}  // namespace dipu::kernels
