// SPDX-License-Identifier: Apache-2.0
//
// Streams: c10::Stream ids and the SDK handles behind them.
//
// Id 0 is the default stream of a device; others count up in order of
// creation. A stream lives until the process ends, so an id never dangles and
// c10::Stream can be copied freely. The number per device is bounded: once
// kMaxNewStreams exist, newStream hands them out again in turn, which is
// correct (work of one stream is merely ordered) and keeps a program that asks
// for a stream per step from exhausting the SDK.
//
// The current stream is a property of the thread and the device.
#pragma once

#include <c10/core/Stream.h>

#include <atomic>
#include <cstdint>

#include "core/runtime/device.h"
#include "core/runtime/thread_state.h"

namespace dipu::runtime {

// Streams per priority that streamFromPool hands out in turn.
inline constexpr int kPoolStreams = 32;
// Streams per device that newStream creates before it reuses them.
inline constexpr int kMaxNewStreams = 128;

// One stream. Never destroyed; all fields but the last are constant.
struct StreamRecord {
  dipu_stream* handle;
  c10::StreamId id;
  c10::DeviceIndex device;
  int priority;
  // Owned by the device allocator: its blocks of this stream.
  std::atomic<void*> allocator_pool{nullptr};

  c10::Stream stream() const {
    return c10::Stream(c10::Stream::UNSAFE, c10::Device(kDeviceType, device),
                       id);
  }
};

namespace detail {
StreamRecord& initCurrentStream(c10::DeviceIndex device);
}  // namespace detail

// Record of this thread's current stream on `device`, which must be a valid
// index. A few instructions; never fails after the first call per device.
inline StreamRecord& currentStreamRecord(c10::DeviceIndex device) {
  StreamRecord** streams = detail::t_state.streams;
  if (__builtin_expect(streams != nullptr, 1)) {
    StreamRecord* record = streams[device];
    if (__builtin_expect(record != nullptr, 1)) return *record;
  }
  return detail::initCurrentStream(device);
}

// SDK handle of this thread's current stream on `device`, for operator calls.
inline dipu_stream* currentStreamHandle(c10::DeviceIndex device) {
  return currentStreamRecord(device).handle;
}

// Record of `stream`. Throws when it is of another device type or unknown.
StreamRecord& recordOf(const c10::Stream& stream);

// SDK handle of `stream`; throws as recordOf does.
inline dipu_stream* handleOf(const c10::Stream& stream) {
  return recordOf(stream).handle;
}

// In the functions below device -1 means the current device.
c10::Stream currentStream(c10::DeviceIndex device = -1);
c10::Stream defaultStream(c10::DeviceIndex device = -1);

// Makes `stream` current on its device for this thread; the current device
// stays. Returns the stream that was current there before.
c10::Stream exchangeCurrentStream(const c10::Stream& stream);

// One of kPoolStreams streams, created when first handed out.
c10::Stream streamFromPool(c10::DeviceIndex device, bool high_priority);

// A stream of its own, see kMaxNewStreams. `priority`: lower is more urgent, 0
// normal, clamped to what the device has.
c10::Stream newStream(c10::DeviceIndex device, int priority);

// Whether all work enqueued so far has finished. Does not block.
bool queryStream(const c10::Stream& stream);

// Blocks until then. Reports the failure of any work enqueued before.
void synchronizeStream(const c10::Stream& stream);

}  // namespace dipu::runtime
