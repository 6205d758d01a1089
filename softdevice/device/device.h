// SPDX-License-Identifier: Apache-2.0
//
// One device: its memory, its streams and its first failure.
//
// Lock order, first to last; of those in one line a thread holds one at most.
//   the turn of pauses
//   an executable graph's mutex; virtual memory's changes
//   the turn of a schedule
//   that of the streams for branches; that of the creation of devices
//   the switches of observers; faults
//   a device's mutex; virtual memory's mutex; the pause's hold on host copies
//   a stream's producer lock; the mutex of a device's memory
// Work is waited for with locks of the first three lines only. Every other lock
// of this library is a leaf.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "softdevice/base/config.h"
#include "softdevice/memory/device_memory.h"
#include "softdevice/softdevice.h"
#include "softdevice/stream/stream.h"
#include "softdevice/stream/team_lock.h"

namespace dipu::softdevice {

class Device {
 public:
  explicit Device(int32_t index);
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  // Creates the default stream. Called once, before anyone sees the device.
  soft_status start();

  int32_t index() const { return index_; }
  DeviceMemory& memory() { return memory_; }
  soft_stream* defaultStream() const { return default_stream_; }
  // Where the one polling worker of this device enters itself.
  std::atomic<soft_stream*>& pollingPlace() const;
  // One kernel's team of threads at a time.
  TeamLock& team() { return team_; }

  soft_status createStream(int32_t priority, uint32_t flags,
                           soft_stream** out_stream);
  void removeStream(soft_stream* stream);  // called by its worker at the end
  // Streams that still have a worker. Their structures stay valid for ever.
  std::vector<soft_stream*> streams() const;
  // Those among them that order themselves with the default stream.
  std::vector<soft_stream*> orderedStreams() const;

  // Calls `visit` with each stream that has a worker, which lasts until then.
  template <typename Visit>
  void visitStreams(const Visit& visit) const {
    std::lock_guard<std::mutex> lock(mutex_);
    for (soft_stream* stream : streams_) visit(stream);
  }

  // Blocks until what is enqueued now has finished.
  void drain() const;
  void reset();
  // Number of resets so far.
  uint64_t generation() const {
    return generation_.load(std::memory_order_acquire);
  }

  // Makes every call that names the device fail, with SOFT_DEVICE_LOST and
  // `message`, until recover(). Replaces an earlier failure.
  void lose(const char* message);
  void recover();
  bool lost() const { return lost_.load(std::memory_order_acquire); }
  // The first failure stays.
  void setError(soft_status status, const char* message);
  // The sticky error, noted as the thread's last message.
  soft_status error() const;

  bool canAccess(int32_t peer) const {
    return peers_[peer].load(std::memory_order_acquire);
  }
  void setAccess(int32_t peer, bool enabled) {
    peers_[peer].store(enabled, std::memory_order_release);
  }

 private:
  const int32_t index_;
  DeviceMemory memory_;
  soft_stream* default_stream_ = nullptr;
  std::atomic<bool> peers_[kMaxDevices] = {};
  TeamLock team_;
  std::atomic<uint64_t> generation_{0};
  std::atomic<soft_status> error_{SOFT_OK};
  std::atomic<bool> lost_{false};
  mutable std::mutex mutex_;  // guards the three below
  std::vector<soft_stream*> streams_;
  std::vector<soft_stream*> ended_;  // see Note [Stream lifetime]
  std::string error_message_;
};

// Finds a device and creates it if this is its first use. `function` names the
// caller in the error text.
soft_status findDevice(const char* function, int32_t index, Device** out);
// The device, if it has been used, else nullptr.
Device* existingDevice(int32_t index);
// The device whose range of addresses holds `ptr`, else nullptr.
Device* deviceOfAddress(const void* ptr);
// As findDevice, for a function that needs no device but a running process.
soft_status checkProcess(const char* function);
// A function that blocks fails when a task calls it: it would wait for itself.
soft_status checkMayBlock(const char* function);
// Drains all devices that have been used.
void drainAllDevices();
// Called by exit(): gives running tasks a moment to end.
void waitForRunningTasks();

}  // namespace dipu::softdevice
