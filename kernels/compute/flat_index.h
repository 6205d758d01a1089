// SPDX-License-Identifier: Apache-2.0
//
// Positions in a flattened tensor: elements are counted in row-major order,
// whatever the strides. See Note [Index out of range] in index.h. Each call
// enqueues and returns, unless its comment says that it waits.
#pragma once

#include "kernels/compute/queue.h"
#include "kernels/compute/status.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

// out[i] = input[index[i]]; `out` has the sizes of `index` (int64 or int32).
// Negative indices count from the end, here and in put.
Status take(const Queue& queue, const TensorView& out, const TensorView& input,
            const TensorView& index);

// out[index[i]] = source[i], or += with `accumulate`, in place. The last of
// equal positions stays. `source` has as many elements as `index` and the dtype
// of `out`.
Status put(const Queue& queue, const TensorView& out, const TensorView& index,
           const TensorView& source, bool accumulate);

// The elements of `out` at which `mask` (broadcast) is set become the elements
// of `source`, one after the other. A source with fewer elements than that is
// an error of the device, found when the work runs.
Status maskedScatter(const Queue& queue, const TensorView& out,
                     const TensorView& mask, const TensorView& source);

// The sum of `repeats` (a vector, int64 or int32); kInvalid if one is negative.
// Waits for the stream.
Status sumRepeats(const Queue& queue, const TensorView& repeats,
                  int64_t* out_sum);
// `out` (dtype of `repeats`) holds each i repeats[i] times. That its size is
// the sum is checked when the work runs.
Status repeatInterleave(const Queue& queue, const TensorView& out,
                        const TensorView& repeats);

}  // namespace dipu::kernels
