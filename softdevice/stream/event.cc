// SPDX-License-Identifier: Apache-2.0
#include "softdevice/stream/event.h"

#include <new>
#include <utility>

#include "softdevice/base/status.h"
#include "softdevice/debug/observe.h"
#include "softdevice/debug/schedule.h"
#include "softdevice/debug/trace.h"
#include "softdevice/device/device.h"
#include "softdevice/graph/capture.h"
#include "softdevice/stream/enqueue.h"
#include "softdevice/stream/order.h"
#include "softdevice/stream/stream.h"

using dipu::softdevice::captureRecord;
using dipu::softdevice::captureWait;
using dipu::softdevice::checkMayBlock;
using dipu::softdevice::checkNotCaptured;
using dipu::softdevice::checkProcess;
using dipu::softdevice::checkUnsafe;
using dipu::softdevice::config;
using dipu::softdevice::Device;
using dipu::softdevice::enqueue;
using dipu::softdevice::enqueueWait;
using dipu::softdevice::enterStream;
using dipu::softdevice::EventRecord;
using dipu::softdevice::existingDevice;
using dipu::softdevice::fail;
using dipu::softdevice::findDevice;
using dipu::softdevice::nowNanoseconds;
using dipu::softdevice::schedulePoint;
using dipu::softdevice::SharedEvent;
using dipu::softdevice::TaskKind;
using dipu::softdevice::TimeStamp;
using dipu::softdevice::traced;
using dipu::softdevice::traceDone;
using dipu::softdevice::withHostMemory;

namespace {

using StampOwner = std::shared_ptr<TimeStamp>;

void stampTask(void* payload) {
  auto* owner = static_cast<StampOwner*>(payload);
  (*owner)->take();
  owner->~StampOwner();
}

soft_status checkEvent(const char* function, const soft_event* event) {
  if (soft_status status = checkProcess(function)) return status;
  if (event != nullptr) return SOFT_OK;
  return fail(SOFT_INVALID_HANDLE, "%s: the event is NULL", function);
}

// For queries: a schedule advances only when somebody asks.
bool reachedByNow(const EventRecord& record) {
  if (!record.reached()) schedulePoint();
  return record.reached();
}

// Gives the record a time and its place in the stream.
soft_status enqueueStamp(soft_stream* stream, EventRecord* record) {
  return withHostMemory("soft_event_record", [&] {
    record->time = std::make_shared<TimeStamp>();
    return enqueue(
        stream, {TaskKind::kTimeStamp, "event", stampTask, sizeof(StampOwner)},
        [&](void* payload) { new (payload) StampOwner(record->time); },
        &record->position);
  });
}

// Checks that the host may ask or wait for what the event stands for.
soft_status checkMayAwait(const char* function, const EventRecord& record) {
  if (soft_status status = checkNotCaptured(function, record)) return status;
  return checkUnsafe(function);
}

}  // namespace

void TimeStamp::take() {
  nanoseconds.store(nowNanoseconds(), std::memory_order_relaxed);
}

bool EventRecord::reached() const {
  return stream == nullptr || stream->reached(position);
}

soft_status soft_event_create(int32_t device, uint32_t flags,
                              soft_event** out_event) {
  Device* owner = nullptr;
  if (soft_status status = findDevice("soft_event_create", device, &owner)) {
    return status;
  }
  constexpr uint32_t kKnown = SOFT_EVENT_BLOCKING_SYNC |
                              SOFT_EVENT_DISABLE_TIMING |
                              SOFT_EVENT_INTERPROCESS;
  if (out_event == nullptr || (flags & ~kKnown) != 0) {
    return fail(SOFT_INVALID_VALUE,
                "soft_event_create: out_event is NULL or flags 0x%x unknown",
                flags);
  }
  const bool shares = (flags & SOFT_EVENT_INTERPROCESS) != 0;
  if (shares && (flags & SOFT_EVENT_DISABLE_TIMING) == 0) {
    return fail(SOFT_INVALID_VALUE,
                "soft_event_create: SOFT_EVENT_INTERPROCESS needs "
                "SOFT_EVENT_DISABLE_TIMING");
  }
  return withHostMemory("soft_event_create", [&] {
    std::shared_ptr<SharedEvent> shared;
    if (shares) {
      const soft_status status =
          SharedEvent::create("soft_event_create", &shared);
      if (status != SOFT_OK) return status;
    }
    *out_event = new soft_event(device, flags, std::move(shared));
    return soft_status{SOFT_OK};
  });
}

soft_status soft_event_destroy(soft_event* event) {
  // No state of the process is in the way: an event holds host memory only.
  delete event;
  return SOFT_OK;
}

soft_status soft_event_record(soft_event* event, soft_stream* stream) {
  if (soft_status status = checkEvent("soft_event_record", event)) {
    return status;
  }
  if (soft_status status = enterStream("soft_event_record", stream)) {
    return status;
  }
  if (event->device() != stream->device().index()) {
    return fail(SOFT_INVALID_HANDLE,
                "soft_event_record: an event of device %d cannot be recorded "
                "on a stream of device %d",
                event->device(), stream->device().index());
  }
  if (event->shared() != nullptr) {
    return event->shared()->record("soft_event_record", stream);
  }
  EventRecord record;
  soft_status captured = SOFT_OK;
  if (stream->isCapturing() &&
      captureRecord(stream, event->hasTiming(), &record, &captured)) {
    if (captured == SOFT_OK) event->set(std::move(record));
    return captured;
  }
  record.stream = stream;
  record.position = stream->tail();
  if (event->hasTiming()) {
    if (soft_status status = enqueueStamp(stream, &record)) return status;
  }
  traceDone({SOFT_TRACE_EVENT_RECORD, event->device(), stream->id(), 0,
             record.position});
  event->set(std::move(record));
  return SOFT_OK;
}

soft_status soft_event_query(soft_event* event) {
  if (soft_status status = checkEvent("soft_event_query", event)) return status;
  const EventRecord record = event->last();
  if (soft_status status = checkMayAwait("soft_event_query", record)) {
    return status;
  }
  if (event->shared() != nullptr) {
    if (soft_status status = event->shared()->query("soft_event_query")) {
      return status;
    }
  } else if (!reachedByNow(record)) {
    return SOFT_NOT_READY;
  }
  return existingDevice(event->device())->error();
}

soft_status soft_event_synchronize(soft_event* event) {
  if (soft_status status = checkMayBlock("soft_event_synchronize")) {
    return status;
  }
  if (soft_status status = checkEvent("soft_event_synchronize", event)) {
    return status;
  }
  const EventRecord record = event->last();
  if (soft_status status = checkMayAwait("soft_event_synchronize", record)) {
    return status;
  }
  const uint64_t stream =
      record.stream == nullptr ? SOFT_TRACE_NO_STREAM : record.stream->id();
  const int64_t spin_us = event->sleeps() ? 0 : config().spin_us;
  return traced({SOFT_TRACE_SYNCHRONIZE, event->device(), stream}, [&] {
    if (event->shared() != nullptr) {
      const soft_status status =
          event->shared()->synchronize("soft_event_synchronize", spin_us);
      if (status != SOFT_OK) return status;
    } else if (record.stream != nullptr) {
      record.stream->waitFor(record.position, spin_us);
    }
    return existingDevice(event->device())->error();
  });
}

soft_status soft_event_elapsed(soft_event* start, soft_event* end,
                               double* out_ms) {
  for (const soft_event* event : {start, end}) {
    if (soft_status status = checkEvent("soft_event_elapsed", event)) {
      return status;
    }
  }
  if (out_ms == nullptr) {
    return fail(SOFT_INVALID_VALUE, "soft_event_elapsed: out_ms is NULL");
  }
  const EventRecord from = start->last();
  const EventRecord to = end->last();
  if (from.time == nullptr || to.time == nullptr) {
    return fail(SOFT_INVALID_HANDLE,
                "soft_event_elapsed: both events must have been recorded and "
                "created without SOFT_EVENT_DISABLE_TIMING");
  }
  if (!reachedByNow(from) || !reachedByNow(to)) return SOFT_NOT_READY;
  const int64_t began = from.time->nanoseconds.load(std::memory_order_relaxed);
  const int64_t ended = to.time->nanoseconds.load(std::memory_order_relaxed);
  if (began == 0 || ended == 0) return SOFT_NOT_READY;  // no replay has been
  *out_ms = static_cast<double>(ended - began) * 1e-6;
  return SOFT_OK;
}

soft_status soft_stream_wait_event(soft_stream* stream, soft_event* event) {
  if (soft_status status = checkEvent("soft_stream_wait_event", event)) {
    return status;
  }
  if (soft_status status = enterStream("soft_stream_wait_event", stream)) {
    return status;
  }
  if (event->shared() != nullptr) {
    return event->shared()->enqueueWaitOn("soft_stream_wait_event", stream);
  }
  const EventRecord record = event->last();
  soft_status captured = SOFT_OK;
  if (record.captured != nullptr ||
      (stream->isCapturing() && record.stream != nullptr)) {
    if (captureWait(stream, record, &captured)) return captured;
  }
  if (record.stream == nullptr) return SOFT_OK;
  traceDone({SOFT_TRACE_WAIT_EVENT, stream->device().index(), stream->id(), 0,
             record.position, record.stream->id()});
  return enqueueWait(stream, record.stream, record.position);
}
