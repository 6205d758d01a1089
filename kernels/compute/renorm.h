// SPDX-License-Identifier: Apache-2.0
//
// Slices limited in norm, and channels dealt out in turn. Each call enqueues
// and returns.
#pragma once

#include "kernels/compute/queue.h"
#include "kernels/compute/status.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

// Each slice of a floating `input` along `dim` whose p-norm is above `limit` is
// scaled down to it. `out` may be `input`; any strides.
Status renorm(const Queue& queue, const TensorView& out,
              const TensorView& input, double p, int64_t dim, double limit);

// Channels are dimension 1, cut into `groups` of equal size: `out` has the
// first channel of every group, then the second of every group, and so on. Any
// dtype and strides; `out` must not overlap `input`.
Status channelShuffle(const Queue& queue, const TensorView& out,
                      const TensorView& input, int64_t groups);

}  // namespace dipu::kernels
