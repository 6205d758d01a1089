// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "softdevice/base/status.h"
#include "softdevice/debug/schedule.h"
#include "softdevice/debug/trace.h"
#include "softdevice/device/device.h"
#include "softdevice/graph/capture.h"
#include "softdevice/softdevice.h"
#include "softdevice/stream/order.h"
#include "softdevice/stream/stream.h"

using dipu::softdevice::checkMayBlock;
using dipu::softdevice::checkNotCaptured;
using dipu::softdevice::checkUnsafe;
using dipu::softdevice::config;
using dipu::softdevice::Device;
using dipu::softdevice::enterStream;
using dipu::softdevice::fail;
using dipu::softdevice::failStream;
using dipu::softdevice::findDevice;
using dipu::softdevice::processIsRunning;
using dipu::softdevice::schedulePoint;
using dipu::softdevice::TraceCall;
using dipu::softdevice::traced;

namespace {

// Checks that the host may ask or wait for the work of a stream.
soft_status checkMayAwait(const char* function, const soft_stream* stream) {
  if (soft_status status = checkNotCaptured(function, stream)) return status;
  return checkUnsafe(function);
}

}  // namespace

soft_status soft_stream_create(int32_t device, int32_t priority, uint32_t flags,
                               soft_stream** out_stream) {
  Device* owner = nullptr;
  if (soft_status status = findDevice("soft_stream_create", device, &owner)) {
    return status;
  }
  if (out_stream == nullptr || (flags & ~uint32_t{SOFT_STREAM_NON_BLOCKING})) {
    return fail(SOFT_INVALID_VALUE,
                "soft_stream_create: out_stream is NULL or flags 0x%x unknown",
                flags);
  }
  return owner->createStream(
      std::clamp(priority, SOFT_PRIORITY_GREATEST, SOFT_PRIORITY_LEAST), flags,
      out_stream);
}

soft_status soft_stream_destroy(soft_stream* stream) {
  // Only the handle is checked: destroying needs no order with other streams.
  if (stream == nullptr || stream->closed() || !processIsRunning()) {
    return failStream("soft_stream_destroy", stream);
  }
  if (stream == stream->device().defaultStream()) {
    return fail(SOFT_INVALID_HANDLE,
                "soft_stream_destroy: the default stream of device %d lives "
                "as long as the process",
                stream->device().index());
  }
  if (soft_status status = checkNotCaptured("soft_stream_destroy", stream)) {
    return status;
  }
  return stream->close();
}

soft_status soft_stream_get_default(int32_t device, soft_stream** out_stream) {
  Device* owner = nullptr;
  if (soft_status status =
          findDevice("soft_stream_get_default", device, &owner)) {
    return status;
  }
  if (out_stream == nullptr) {
    return fail(SOFT_INVALID_VALUE,
                "soft_stream_get_default: out_stream is NULL");
  }
  *out_stream = owner->defaultStream();
  return SOFT_OK;
}

soft_status soft_stream_query(soft_stream* stream) {
  // Unlike enterStream this enqueues no waits: a query must never block, and
  // the ring may be full.
  if (stream == nullptr || stream->closed() || !processIsRunning()) {
    return failStream("soft_stream_query", stream);
  }
  if (soft_status status = checkMayAwait("soft_stream_query", stream)) {
    return status;
  }
  const uint64_t position = stream->tail();
  if (!stream->reached(position)) schedulePoint();
  const Device& device = stream->device();
  if (!stream->reached(position) && !device.lost()) return SOFT_NOT_READY;
  return device.error();
}

soft_status soft_stream_synchronize(soft_stream* stream) {
  if (soft_status status = checkMayBlock("soft_stream_synchronize")) {
    return status;
  }
  soft_status status = enterStream("soft_stream_synchronize", stream);
  // What was enqueued before the loss still runs.
  if (status != SOFT_OK && status != SOFT_DEVICE_LOST) return status;
  status = checkMayAwait("soft_stream_synchronize", stream);
  if (status != SOFT_OK) return status;
  const TraceCall call{SOFT_TRACE_SYNCHRONIZE, stream->device().index(),
                       stream->id()};
  return traced(call, [&] {
    stream->waitFor(stream->tail(), config().spin_us);
    return stream->device().error();
  });
}

int32_t soft_stream_device(const soft_stream* stream) {
  return stream->device().index();
}

int32_t soft_stream_priority(const soft_stream* stream) {
  return stream->priority();
}

uint32_t soft_stream_flags(const soft_stream* stream) {
  return stream->flags();
}

uint64_t soft_stream_id(const soft_stream* stream) { return stream->id(); }

const soft_address_map* soft_stream_address_map(soft_stream* stream) {
  return &stream->device().memory().map();
}
