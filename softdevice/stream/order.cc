// SPDX-License-Identifier: Apache-2.0
#include "softdevice/stream/order.h"

#include <new>

#include "softdevice/base/process.h"
#include "softdevice/base/status.h"
#include "softdevice/device/device.h"
#include "softdevice/graph/capture.h"
#include "softdevice/stream/enqueue.h"

namespace dipu::softdevice {
namespace {

struct Wait {
  soft_stream* other;
  uint64_t position;
};

void waitTask(void* payload) {
  // Sleeps soon: the polling may cost the other stream its processor.
  constexpr int64_t kSpinUs = 20;
  const auto* wait = static_cast<const Wait*>(payload);
  wait->other->waitFor(wait->position, kSpinUs);
}

bool waitIsOver(const void* payload) {
  const auto* wait = static_cast<const Wait*>(payload);
  return wait->other->reached(wait->position);
}

}  // namespace

soft_status enqueueWait(soft_stream* stream, soft_stream* other,
                        uint64_t position) {
  if (stream == other || other->reached(position)) return SOFT_OK;
  const Task task{TaskKind::kWait, "wait", waitTask,
                  sizeof(Wait),    0,      waitIsOver};
  return enqueue(stream, task,
                 [&](void* payload) { new (payload) Wait{other, position}; });
}

soft_status orderWithOthers(const char* function, soft_stream* stream) {
  if (stream->isCapturing()) return SOFT_OK;
  const Device& device = stream->device();
  soft_stream* const first = device.defaultStream();
  if (stream != first) return enqueueWait(stream, first, first->tail());
  for (soft_stream* other : device.orderedStreams()) {
    if (soft_status status = checkNotImplied(function, other)) return status;
    if (soft_status status = enqueueWait(stream, other, other->tail())) {
      return status;
    }
  }
  return SOFT_OK;
}

soft_status enterBarred(const char* function, soft_stream* stream) {
  if (stream->device().lost()) {
    const soft_status status = stream->device().error();
    spoilByFailure(stream);
    return status;
  }
  return stream->isOrdered() ? orderWithOthers(function, stream) : SOFT_OK;
}

soft_status failStream(const char* function, const soft_stream* stream) {
  if (!processIsRunning()) return failProcessState(function);
  if (stream == nullptr) {
    return fail(SOFT_INVALID_HANDLE,
                "%s: the stream is NULL; use soft_stream_get_default",
                function);
  }
  return fail(SOFT_INVALID_HANDLE, "%s: stream %lu has been destroyed",
              function, stream->id());
}

}  // namespace dipu::softdevice
