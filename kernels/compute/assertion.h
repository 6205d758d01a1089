// SPDX-License-Identifier: Apache-2.0
//
// Conditions that are checked when the stream gets there.
#pragma once

#include "kernels/compute/queue.h"
#include "kernels/compute/status.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

// Enqueues a failure of the device, with `message`, that happens if the one
// element of `condition` is 0. Long messages are cut. Any dtype.
Status assertNonZero(const Queue& queue, const TensorView& condition,
                     const char* message);

}  // namespace dipu::kernels
