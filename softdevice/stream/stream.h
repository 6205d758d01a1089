// SPDX-License-Identifier: Apache-2.0
//
// A stream: a ring of tasks and the worker thread that runs them in order.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>

#include "softdevice/base/process.h"
#include "softdevice/base/status.h"
#include "softdevice/softdevice.h"
#include "softdevice/stream/spin_lock.h"

namespace dipu::softdevice {

class Device;

// One task in the ring.
struct alignas(64) Slot {
  soft_task task;
  void* heap;        // the payload, when it does not fit; freed after the run
  const char* name;  // for messages; nullptr: unknown
  alignas(16) unsigned char payload[SOFT_INLINE_PAYLOAD];
};
static_assert(sizeof(Slot) == 256, "four cache lines per task");

}  // namespace dipu::softdevice

// Note [Positions]
// The tasks of a stream are numbered from 1 and `completed` is the number of
// the last one that has FINISHED. "The work enqueued so far" therefore is a
// number, and waiting for it is waiting for `completed` to reach it. Events and
// the order between streams are made of such numbers alone; they refer only to
// work enqueued earlier in time, so waits cannot form a cycle.
//
// Note [Stream lifetime]
// The structure (about half a kilobyte; 10,000 streams keep 6 MB) is never
// freed. So events may keep a stream's address, and a call with the handle of a
// destroyed stream is an error instead of a crash. Ring and thread end with the
// stream.
struct soft_stream {
 public:
  using Device = dipu::softdevice::Device;

  // What a worker is doing, as far as process exit and pauses have to know.
  enum class Activity : int { kRunning, kWaiting, kEnded };

  soft_stream(Device* device, uint64_t id, int32_t priority, uint32_t flags);
  soft_stream(const soft_stream&) = delete;
  soft_stream& operator=(const soft_stream&) = delete;

  // Allocates the ring and starts the worker.
  soft_status start();
  // Refuses further work and ends the worker after the work it has. Does not
  // block.
  soft_status close();

  // Puts a task into the ring, whoever watches: see enqueue.h.
  template <typename Fill>
  soft_status push(const char* name, soft_task task, std::size_t bytes,
                   const Fill& fill, uint64_t* out_position = nullptr);

  // Position of the last task enqueued.
  uint64_t tail() const { return tail_.load(std::memory_order_acquire); }
  bool reached(uint64_t position) const {
    return completed_.load(std::memory_order_acquire) >= position;
  }
  // Blocks until `position` is reached; polls for about `spin_us` before it
  // sleeps, for `limit_ms` at most (negative: no limit). Under a schedule
  // (schedule.h) it runs the tasks that this takes, without a limit.
  void waitFor(uint64_t position, int64_t spin_us, int64_t limit_ms = -1);
  // As above without looking for a schedule, for `limit_ms` at most (negative:
  // no limit); whether `position` has been reached.
  bool await(uint64_t position, int64_t spin_us, int64_t limit_ms);
  // Position of the last task that has finished.
  uint64_t completed() const {
    return completed_.load(std::memory_order_acquire);
  }
  // The first task that has not finished, nullptr if there is none but the
  // stream's end. The caller is Device::visitStreams, which keeps the ring from
  // being freed; the task does not change while the worker stands before it.
  const dipu::softdevice::Slot* next() const;

  // The stream whose worker is the calling thread, else nullptr.
  static soft_stream* current();
  // The rest of this group is for the stream's worker. Name of the task that
  // runs, nullptr if it has none.
  const char* runningName() const { return running_name_; }
  // Runs a task as if it were the ring's next: what it throws fails it.
  void runInPlace(const char* name, soft_task task, void* payload);
  // Does not return once the process is ending.
  void stopAtExit();
  // Says that the task waits for others, so that neither exit() nor a pause
  // waits for it. Its waiting ends after the pause.
  void setWaiting(bool waiting);

  Device& device() const { return *device_; }
  uint64_t id() const { return id_; }
  int32_t priority() const { return priority_; }
  uint32_t flags() const { return flags_; }
  bool closed() const { return closed_.load(std::memory_order_relaxed); }
  Activity activity() const {
    return activity_.load(std::memory_order_seq_cst);
  }
  // Whether no task of it touches memory now, see Note [Pausing].
  bool isQuiet() const {
    return activity() != Activity::kRunning || reached(tail());
  }
  // Whether a launch has to look at other streams first, see order.h.
  bool isOrdered() const { return has(kOrdered); }
  void setOrdered() { set(kOrdered, true); }
  // Whether a launch has to look at those who record or disturb it. Each of
  // them has a bit of its own.
  bool isWatched() const { return has(kObserved | kCapturing); }
  bool isObserved() const { return has(kObserved); }  // see observe.h
  void setObserved(bool on) { set(kObserved, on); }
  bool isCapturing() const { return has(kCapturing); }  // see capture.h
  void setCapturing(bool on) { set(kCapturing, on); }
  // Whether the stream cannot be entered without further ado, see order.h.
  bool isBarred() const { return has(kOrdered | kLost); }
  void setLost(bool on) { set(kLost, on); }  // see Device::lose

 private:
  using Slot = dipu::softdevice::Slot;
  static constexpr uint64_t kSlots = 1024;
  // Tasks that may be pending: one slot is kept for the stream's end, so that
  // close() never waits.
  static constexpr uint64_t kRoom = kSlots - 1;
  // Bits of modes_.
  static constexpr uint32_t kOrdered = 1;
  static constexpr uint32_t kObserved = 2;
  static constexpr uint32_t kCapturing = 4;
  static constexpr uint32_t kLost = 8;

  bool has(uint32_t mode) const {
    return (modes_.load(std::memory_order_relaxed) & mode) != 0;
  }
  void set(uint32_t mode, bool on) {
    if (on) {
      modes_.fetch_or(mode, std::memory_order_relaxed);
    } else {
      modes_.fetch_and(~mode, std::memory_order_relaxed);
    }
  }
  static void* workerMain(void* self);
  void run();
  void runTask(Slot* slot);
  void stayPaused();
  uint64_t waitForWork(uint64_t head);
  bool pollForWork(uint64_t head);
  void sleepForWork(uint64_t head);
  void wakeWorker();
  void announceProgress();
  // Called and returning with the producer lock held.
  soft_status waitForRoom();
  void publish(const char* name, soft_task task, void* heap);

  // Constant once started.
  Device* const device_;
  const uint64_t id_;
  const int32_t priority_;
  const uint32_t flags_;
  Slot* ring_ = nullptr;
  std::atomic<uint32_t> modes_{0};

  // Producers. The lock is held for the few instructions of a launch.
  alignas(64) dipu::softdevice::SpinLock producers_;
  std::atomic<bool> closed_{false};  // written under producers_
  uint64_t next_ = 0;                // guarded by producers_: tail_
  uint64_t known_completed_ = 0;     // guarded by producers_
  // The worker polls this line; nothing else may lie on it.
  alignas(64) std::atomic<uint64_t> tail_{0};
  // The worker's line. It announces progress when wake_at_ is reached.
  alignas(64) std::atomic<uint64_t> completed_{0};
  std::atomic<uint64_t> wake_at_{UINT64_MAX};
  bool stop_ = false;                   // worker only
  const char* running_name_ = nullptr;  // worker only
  // Read by every launch, written when the worker goes to sleep.
  alignas(64) std::atomic<bool> sleeping_{false};
  std::atomic<Activity> activity_{Activity::kWaiting};
  std::mutex mutex_;  // for the two conditions; nothing is locked under it
  std::condition_variable work_;
  std::condition_variable progress_;
};

template <typename Fill>
soft_status soft_stream::push(const char* name, soft_task task,
                              std::size_t bytes, const Fill& fill,
                              uint64_t* out_position) {
  void* heap = nullptr;
  if (bytes > SOFT_INLINE_PAYLOAD) {
    heap = std::malloc(bytes);
    if (heap == nullptr) {
      return dipu::softdevice::fail(
          SOFT_OUT_OF_MEMORY, "no host memory for %zu bytes of payload", bytes);
    }
    fill(heap);
  }
  producers_.lock();
  if (next_ - known_completed_ >= kRoom) {
    if (soft_status status = waitForRoom()) {
      producers_.unlock();
      std::free(heap);
      return status;
    }
  }
  if (closed_.load(std::memory_order_relaxed)) {
    producers_.unlock();
    std::free(heap);
    return dipu::softdevice::fail(SOFT_INVALID_HANDLE,
                                  "stream %lu has been destroyed", id_);
  }
  if (heap == nullptr) fill(ring_[next_ & (kSlots - 1)].payload);
  publish(name, task, heap);
  if (out_position != nullptr) *out_position = next_;
  producers_.unlock();
  dipu::softdevice::lightBarrier();  // see Note [Asymmetric barrier]
  if (sleeping_.load(std::memory_order_relaxed)) wakeWorker();
  return SOFT_OK;
}

inline void soft_stream::publish(const char* name, soft_task task, void* heap) {
  Slot& slot = ring_[next_ & (kSlots - 1)];
  slot.task = task;
  slot.heap = heap;
  slot.name = name;
  tail_.store(++next_, std::memory_order_release);
}
