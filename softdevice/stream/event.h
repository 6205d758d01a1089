// SPDX-License-Identifier: Apache-2.0
//
// An event: a position of a stream, and the time when it was reached.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "softdevice/ipc/shared_event.h"
#include "softdevice/softdevice.h"

namespace dipu::softdevice {

// Shared with the task that writes it, so the event may be destroyed or
// recorded again while that task is pending.
struct TimeStamp {
  std::atomic<int64_t> nanoseconds{0};  // CLOCK_MONOTONIC; 0: not yet

  void take();  // the time now
};

struct CaptureMark;  // see capture.h

// What one record leaves behind. See Note [Positions].
struct EventRecord {
  soft_stream* stream = nullptr;  // nullptr: never recorded
  uint64_t position = 0;
  std::shared_ptr<TimeStamp> time;  // nullptr: without timing
  // Not nullptr: recorded in a capture, and then on no stream.
  std::shared_ptr<const CaptureMark> captured;

  bool reached() const;
};

}  // namespace dipu::softdevice

struct soft_event {
 public:
  soft_event(int32_t device, uint32_t flags,
             std::shared_ptr<dipu::softdevice::SharedEvent> shared = nullptr)
      : device_(device), flags_(flags), shared_(std::move(shared)) {}

  int32_t device() const { return device_; }
  bool hasTiming() const { return (flags_ & SOFT_EVENT_DISABLE_TIMING) == 0; }
  // nullptr unless other processes may use the event; then all is in there.
  const std::shared_ptr<dipu::softdevice::SharedEvent>& shared() const {
    return shared_;
  }
  bool sleeps() const { return (flags_ & SOFT_EVENT_BLOCKING_SYNC) != 0; }

  dipu::softdevice::EventRecord last() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return record_;
  }
  void set(dipu::softdevice::EventRecord record) {
    std::lock_guard<std::mutex> lock(mutex_);
    record_ = std::move(record);
  }

 private:
  const int32_t device_;
  const uint32_t flags_;
  const std::shared_ptr<dipu::softdevice::SharedEvent> shared_;
  mutable std::mutex mutex_;  // guards record_
  dipu::softdevice::EventRecord record_;
};
