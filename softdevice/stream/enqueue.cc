// SPDX-License-Identifier: Apache-2.0
#include "softdevice/stream/enqueue.h"

#include <cstdint>

#include "softdevice/base/status.h"
#include "softdevice/debug/observe.h"
#include "softdevice/graph/capture.h"

namespace dipu::softdevice {

soft_status enqueueWatched(soft_stream* stream, const Task& task,
                           const PayloadWriter& fill, uint64_t* out_position) {
  // What watches adds headers of its own, and the sums must not wrap around.
  if (task.bytes > PTRDIFF_MAX / 2) {
    return fail(SOFT_OUT_OF_MEMORY, "no host memory for %zu bytes of payload",
                task.bytes);
  }
  soft_status status = SOFT_OK;
  if (stream->isCapturing() && captureTask(stream, task, fill, &status)) {
    return status;
  }
  if (stream->isObserved()) {
    return enqueueObserved(stream, task, fill, out_position);
  }
  return stream->push(task.name, task.run, task.bytes, fill, out_position);
}

}  // namespace dipu::softdevice
