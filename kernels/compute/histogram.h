// SPDX-License-Identifier: Apache-2.0
//
// How often values occur.
#pragma once

#include "kernels/compute/queue.h"
#include "kernels/compute/status.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

// The smallest and the largest element of an integer tensor that is not empty.
// Waits for the stream.
Status integerRange(const Queue& queue, const TensorView& input, int64_t* low,
                    int64_t* high);

// out[v] = number of elements v of `input` (integers), or the sum of their
// `weights` (sizes of `input`; may be undefined). Every element is an index
// into `out` (int64, float32 or float64). Enqueues and returns.
Status binCount(const Queue& queue, const TensorView& out,
                const TensorView& input, const TensorView& weights);

// out[i] = number of elements in bin i of equal bins from `low` to `high`, that
// included; the range of the elements if both are equal. Other elements do not
// count. Floating, as `out`, which gets exact counts rounded to its type. A
// range that is not finite is an error of the device, found when the work runs.
// Enqueues and returns.
Status equalBins(const Queue& queue, const TensorView& out,
                 const TensorView& input, double low, double high);

// The same for bins with given edges (ascending, one more than bins) and
// optional weights. With `density` the sum over bins, times their width, is 1.
Status givenBins(const Queue& queue, const TensorView& out,
                 const TensorView& edges, const TensorView& input,
                 const TensorView& weights, bool density);

}  // namespace dipu::kernels
