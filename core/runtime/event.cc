// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/event.h"

#include <c10/util/Exception.h>

#include <array>
#include <mutex>
#include <vector>

#include "core/observe/observer.h"
#include "core/runtime/device.h"
#include "core/runtime/error.h"
#include "core/runtime/stream.h"
#include "core/runtime/vendor_state.h"
#include "core/vendor_call/call.h"

namespace dipu::runtime {
namespace {

using vendor_call::call;

// Idle events of one device and kind.
struct EventPool {
  std::mutex mutex;
  std::vector<EventRecord*> idle;  // guarded by mutex
};

// Tells the observer, if there is one, that the mark has been reached.
void tellDone(const EventRecord& event) {
  if (auto* observer = observe::observer()) observer->onEventDone(&event);
}

EventPool& poolOf(c10::DeviceIndex device, bool timing) {
  static auto* const pools = new std::array<EventPool, 2 * kMaxDevices>;
  return (*pools)[2 * device + (timing ? 1 : 0)];
}

}  // namespace

void releaseEvent(EventRecord* event) noexcept {
  // A forked child must not take a lock that another thread of the parent may
  // have held; neither it nor an ending process can use the event anyway.
  if (event == nullptr || !isInitialized()) return;
  EventPool& pool = poolOf(event->device, event->timing);
  const std::lock_guard<std::mutex> lock(pool.mutex);
  pool.idle.push_back(event);
}

PooledEvent acquireEvent(c10::DeviceIndex device, bool timing) {
  checkDeviceIndex(device);
  EventPool& pool = poolOf(device, timing);
  {
    const std::lock_guard<std::mutex> lock(pool.mutex);
    if (!pool.idle.empty()) {
      PooledEvent event(pool.idle.back());
      pool.idle.pop_back();
      return event;
    }
  }
  dipu_event* handle = nullptr;
  check(call("event.create", eventApi().create, device,
             timing ? DIPU_EVENT_TIMING : 0, &handle),
        device);
  detail::markUsed(device);
  return PooledEvent(new EventRecord{handle, device, timing});
}

void recordEvent(EventRecord& event, const StreamRecord& stream) {
  check(call("event.record", eventApi().record, event.handle, stream.handle),
        stream.device);
  if (auto* observer = observe::observer()) {
    observer->onRecord(&event, {stream.device, stream.id});
  }
}

void waitEvent(const StreamRecord& stream, const EventRecord& event) {
  check(call("stream.wait_event", streamApi().wait_event, stream.handle,
             event.handle),
        stream.device);
  if (auto* observer = observe::observer()) {
    observer->onWait({stream.device, stream.id}, &event);
  }
}

bool queryEvent(const EventRecord& event) {
  int32_t done = 0;
  check(call("event.query", eventApi().query, event.handle, &done),
        event.device);
  if (done != 0) tellDone(event);
  return done != 0;
}

void synchronizeEvent(const EventRecord& event) {
  check(call("event.synchronize", eventApi().synchronize, event.handle),
        event.device);
  tellDone(event);
}

double elapsedMs(const EventRecord& start, const EventRecord& end) {
  double ms = 0;
  check(
      call("event.elapsed", eventApi().elapsed, start.handle, end.handle, &ms),
      start.device);
  tellDone(start);
  tellDone(end);
  return ms;
}

}  // namespace dipu::runtime
