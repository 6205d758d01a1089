// SPDX-License-Identifier: Apache-2.0
#include "softdevice/stream/stream.h"

#include <cxxabi.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <new>

#include "softdevice/base/config.h"
#include "softdevice/debug/observe.h"
#include "softdevice/debug/schedule.h"
#include "softdevice/device/device.h"
#include "softdevice/stream/pause.h"

namespace dipu::softdevice {
namespace {

thread_local soft_stream* current_stream = nullptr;

void stopTask(void*) {}

// Gives the calling thread, and the team that it will start, a share of the
// processors that fits the priority. Less than the program's own is always
// allowed; more needs CAP_SYS_NICE or RLIMIT_NICE and is left out without.
void setNice(int32_t priority) {
  constexpr int kNicePerStep = 4;
  static const int base = getpriority(PRIO_PROCESS, getpid());
  if (priority == 0) return;
  setpriority(PRIO_PROCESS, 0, base + kNicePerStep * priority);
}

// A thread that receives no signals: those belong to the program's own.
bool startThread(void* (*main)(void*), soft_stream* stream) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  const bool started = pthread_create(&thread, nullptr, main, stream) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!started) return false;
  char name[16];
  std::snprintf(name, sizeof(name), "soft%d:%lu", stream->device().index(),
                stream->id() % 100000);
  pthread_setname_np(thread, name);
  // Nobody joins: the thread may outlive the call that ends its stream.
  pthread_detach(thread);
  return true;
}

}  // namespace
}  // namespace dipu::softdevice

using dipu::softdevice::config;
using dipu::softdevice::fail;
using dipu::softdevice::heavyBarrier;
using dipu::softdevice::pollFor;
using dipu::softdevice::process_flags;
using dipu::softdevice::ProcessState;

soft_stream::soft_stream(Device* device, uint64_t id, int32_t priority,
                         uint32_t flags)
    : device_(device), id_(id), priority_(priority), flags_(flags) {}

soft_stream* soft_stream::current() { return dipu::softdevice::current_stream; }

soft_status soft_stream::start() {
  ring_ = new (std::nothrow) Slot[kSlots];
  if (ring_ == nullptr) {
    return fail(SOFT_OUT_OF_MEMORY, "no host memory for a stream's ring");
  }
  activity_.store(Activity::kRunning, std::memory_order_seq_cst);
  if (!dipu::softdevice::startThread(&workerMain, this)) {
    activity_.store(Activity::kEnded, std::memory_order_seq_cst);
    delete[] ring_;
    ring_ = nullptr;
    return fail(SOFT_OUT_OF_MEMORY,
                "the system refused a thread for a stream of device %d; "
                "destroy streams that are no longer used",
                device_->index());
  }
  return SOFT_OK;
}

soft_status soft_stream::close() {
  producers_.lock();
  const bool first = !closed();
  if (first) {
    closed_.store(true, std::memory_order_relaxed);
    publish("stop", dipu::softdevice::stopTask, nullptr);
  }
  producers_.unlock();
  if (!first) {
    return fail(SOFT_INVALID_HANDLE, "stream %lu is already destroyed", id_);
  }
  heavyBarrier();
  if (sleeping_.load(std::memory_order_seq_cst)) wakeWorker();
  return SOFT_OK;
}

soft_status soft_stream::waitForRoom() {
  for (;;) {
    known_completed_ = completed_.load(std::memory_order_acquire);
    if (next_ - known_completed_ < kRoom) return SOFT_OK;
    if (current() != nullptr) {
      return fail(SOFT_NOT_PERMITTED,
                  "a task of stream %lu enqueued work on stream %lu, whose %lu "
                  "places are taken; it must not wait, since that stream may "
                  "wait for it",
                  current()->id(), id_, kRoom);
    }
    // Wait for more than one slot, or producer and worker would take turns.
    // Where tasks are long take the first one: between two calls the caller can
    // be interrupted.
    constexpr int64_t kPatienceMs = 20;
    const uint64_t target = next_ - kRoom + kRoom / 4;
    producers_.unlock();
    waitFor(target, config().spin_us, kPatienceMs);
    producers_.lock();
  }
}

void soft_stream::waitFor(uint64_t position, int64_t spin_us,
                          int64_t limit_ms) {
  if (dipu::softdevice::observing(dipu::softdevice::kSchedule)) {
    dipu::softdevice::schedule().runUntil(this, position);
  } else {
    await(position, spin_us, limit_ms);
  }
}

bool soft_stream::await(uint64_t position, int64_t spin_us, int64_t limit_ms) {
  if (pollFor(spin_us, [&] { return reached(position); })) return true;
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::milliseconds(limit_ms);
  soft_stream* const self = current();
  if (self != nullptr) self->setWaiting(true);
  {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      if (wake_at_.load(std::memory_order_relaxed) > position) {
        wake_at_.store(position, std::memory_order_relaxed);
      }
      heavyBarrier();  // see Note [Asymmetric barrier]
      if (reached(position)) break;
      if (limit_ms < 0) {
        progress_.wait(lock);
      } else if (progress_.wait_until(lock, end) == std::cv_status::timeout) {
        break;
      }
    }
  }
  if (self != nullptr) self->setWaiting(false);
  return reached(position);
}

const dipu::softdevice::Slot* soft_stream::next() const {
  const uint64_t done = completed();
  const uint64_t last = tail();
  // The last task of a closed stream is its end, and ring_ goes with it.
  if (done == last || (closed() && done + 1 == last)) return nullptr;
  return &ring_[done & (kSlots - 1)];
}

void soft_stream::announceProgress() {
  std::lock_guard<std::mutex> lock(mutex_);
  // Those who wait for a later task set it again.
  wake_at_.store(UINT64_MAX, std::memory_order_relaxed);
  progress_.notify_all();
}

void soft_stream::wakeWorker() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!sleeping_.load(std::memory_order_relaxed)) return;
    sleeping_.store(false, std::memory_order_relaxed);
  }
  work_.notify_one();
}

void* soft_stream::workerMain(void* self) {
  auto* stream = static_cast<soft_stream*>(self);
  dipu::softdevice::current_stream = stream;
  dipu::softdevice::setNice(stream->priority());
  stream->run();
  return nullptr;
}

void soft_stream::run() {
  for (uint64_t head = 0; !stop_;) {
    for (const uint64_t tail = waitForWork(head); head != tail;) {
      stayPaused();
      stopAtExit();
      runTask(&ring_[head & (kSlots - 1)]);
      completed_.store(++head, std::memory_order_release);
      dipu::softdevice::lightBarrier();
      if (wake_at_.load(std::memory_order_relaxed) <= head) announceProgress();
    }
  }
  // close() has made sure that nobody writes to the ring any more.
  device_->removeStream(this);
  delete[] ring_;
  activity_.store(Activity::kEnded, std::memory_order_seq_cst);
}

void soft_stream::setWaiting(bool waiting) {
  activity_.store(waiting ? Activity::kWaiting : Activity::kRunning,
                  std::memory_order_seq_cst);
  if (!waiting) stayPaused();
}

// Looks again after each pause: the next one may have begun while this worker
// still said that it waits.
void soft_stream::stayPaused() {
  while (process_flags.paused.load(std::memory_order_seq_cst)) {
    activity_.store(Activity::kWaiting, std::memory_order_seq_cst);
    dipu::softdevice::waitForResume();
    activity_.store(Activity::kRunning, std::memory_order_seq_cst);
  }
}

void soft_stream::runTask(Slot* slot) {
  if (slot->task == dipu::softdevice::stopTask) {
    stop_ = true;
    return;
  }
  runInPlace(slot->name, slot->task,
             slot->heap == nullptr ? slot->payload : slot->heap);
  std::free(slot->heap);
}

void soft_stream::stopAtExit() {
  if (process_flags.state.load(std::memory_order_seq_cst) ==
      ProcessState::kRunning) {
    return;
  }
  // The process is going away, and with it what tasks may refer to.
  activity_.store(Activity::kEnded, std::memory_order_seq_cst);
  for (;;) pause();
}

void soft_stream::runInPlace(const char* name, soft_task task, void* payload) {
  running_name_ = name;
  try {
    task(payload);
  } catch (const std::exception& error) {
    dipu::softdevice::leaveTeam();
    soft_task_fail(SOFT_LAUNCH_FAILURE, error.what());
  } catch (const abi::__forced_unwind&) {
    throw;  // the thread is being cancelled, which must not be stopped
  } catch (...) {
    dipu::softdevice::leaveTeam();
    soft_task_fail(SOFT_LAUNCH_FAILURE,
                   "a task threw something that is not a std::exception");
  }
}

uint64_t soft_stream::waitForWork(uint64_t head) {
  if (tail() == head && !pollForWork(head)) sleepForWork(head);
  return tail();
}

// At most one idle worker polls per place, the one that was busy last: on a
// machine with few cores a second one would take time from the program.
bool soft_stream::pollForWork(uint64_t head) {
  std::atomic<soft_stream*>& place = device_->pollingPlace();
  place.store(this, std::memory_order_relaxed);
  pollFor(config().spin_us, [&] {
    return tail() != head || place.load(std::memory_order_relaxed) != this ||
           !dipu::softdevice::processIsRunning();
  });
  return tail() != head;
}

void soft_stream::sleepForWork(uint64_t head) {
  std::unique_lock<std::mutex> lock(mutex_);
  activity_.store(Activity::kWaiting, std::memory_order_seq_cst);
  for (;;) {
    // Anew in each round: a late producer may wake the worker, and clear
    // this, for a task that has long been done.
    sleeping_.store(true, std::memory_order_relaxed);
    heavyBarrier();  // see Note [Asymmetric barrier]
    if (tail() != head) break;
    work_.wait(lock);
  }
  sleeping_.store(false, std::memory_order_relaxed);
  activity_.store(Activity::kRunning, std::memory_order_seq_cst);
}
