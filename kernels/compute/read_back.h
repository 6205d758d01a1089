// SPDX-License-Identifier: Apache-2.0
//
// Results that the host needs before it can go on, such as a size.
#pragma once

#include <cstddef>

#include "kernels/compute/queue.h"
#include "kernels/compute/status.h"

namespace dipu::kernels {

// Copies `bytes` of device memory at `from` to the host. Waits for all work
// of the stream.
inline Status readBack(const Queue& queue, void* to, const void* from,
                       std::size_t bytes) {
  if (soft_memcpy_async(to, from, bytes, queue.stream()) == SOFT_OK &&
      soft_stream_synchronize(queue.stream()) == SOFT_OK) {
    return Status::kOk;
  }
  return fail(Status::kFailed, "%s", soft_last_message());
}

}  // namespace dipu::kernels
