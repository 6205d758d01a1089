// SPDX-License-Identifier: Apache-2.0
//
// Events: marks in a stream that others wait for, ask for or time.
//
// SDK events are pooled per device and kind, because creating one costs far
// more than recording it.
#pragma once

#include <c10/core/Device.h>

#include <memory>

#include "core/abi/runtime.h"

namespace dipu::runtime {

struct StreamRecord;

// An SDK event with what is needed to give it back. Functions on it may be
// called from any thread, but a record must not race with other uses.
struct EventRecord {
  dipu_event* handle;
  c10::DeviceIndex device;
  bool timing;
};

// Gives an event back to the pool. Legal while it is pending: it is reused by
// recording it anew, which replaces the old mark.
void releaseEvent(EventRecord* event) noexcept;

struct EventReleaser {
  void operator()(EventRecord* event) const noexcept { releaseEvent(event); }
};
using PooledEvent = std::unique_ptr<EventRecord, EventReleaser>;

// Takes an event of `device` from the pool or creates one. `timing`: it can be
// passed to elapsedMs.
PooledEvent acquireEvent(c10::DeviceIndex device, bool timing = false);

// Enqueues the mark on `stream`, which must be of the event's device.
void recordEvent(EventRecord& event, const StreamRecord& stream);

// Enqueues: later work of `stream`, of any device, waits for the mark.
void waitEvent(const StreamRecord& stream, const EventRecord& event);

// Whether the last mark has been reached. Does not block.
bool queryEvent(const EventRecord& event);

// Blocks until then.
void synchronizeEvent(const EventRecord& event);

// Milliseconds between two marks that have been reached. Throws when one is
// unfinished, was never recorded, or has no timing.
double elapsedMs(const EventRecord& start, const EventRecord& end);

}  // namespace dipu::runtime
