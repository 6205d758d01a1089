// SPDX-License-Identifier: Apache-2.0
#include "softdevice/stream/enqueue.h"

#include "softdevice/debug/observe.h"
#include "softdevice/graph/capture.h"

namespace dipu::softdevice {

soft_status enqueueWatched(soft_stream* stream, const Task& task,
                           const PayloadWriter& fill, uint64_t* out_position) {
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
