// SPDX-License-Identifier: Apache-2.0
//
// Places in sorted tensors.
#pragma once

#include "kernels/compute/queue.h"
#include "kernels/compute/status.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

// For each of `values` the position in its line of `sorted` at which it can be
// inserted: before equal elements, or behind them if `right`. `sorted` is one
// line for all, or has a line (its last dimension) for each line of `values`.
// NaN goes behind everything. `sorter` (int64, the sizes of `sorted`) tells
// the order in which an unsorted tensor is sorted, and may be undefined. `out`
// (int64 or int32) has the sizes of `values`. Enqueues and returns.
Status searchSorted(const Queue& queue, const TensorView& out,
                    const TensorView& sorted, const TensorView& values,
                    const TensorView& sorter, bool right);

}  // namespace dipu::kernels
