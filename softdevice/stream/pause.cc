// SPDX-License-Identifier: Apache-2.0
#include "softdevice/stream/pause.h"

#include <chrono>
#include <condition_variable>
#include <thread>

#include "softdevice/base/process.h"
#include "softdevice/base/status.h"
#include "softdevice/device/device.h"
#include "softdevice/stream/stream.h"

namespace dipu::softdevice {
namespace {

// Never destroyed: workers use it until the process has ended.
struct PauseState {
  std::mutex turn;           // taken first, for the whole pause
  std::shared_mutex access;  // see HostAccess
  std::mutex mutex;          // for resumed; nothing is locked under it
  std::condition_variable resumed;
};
PauseState& pauseState() {
  static PauseState* const state = new PauseState;
  return *state;
}

bool isPaused() { return process_flags.paused.load(std::memory_order_seq_cst); }

bool allQuiet() {
  for (int32_t index = 0; index < kMaxDevices; ++index) {
    const Device* device = existingDevice(index);
    if (device == nullptr) continue;
    for (const soft_stream* stream : device->streams()) {
      if (!stream->isQuiet()) return false;
    }
  }
  return true;
}

}  // namespace

soft_status WorkPause::begin(const char* function) {
  turn_ = std::unique_lock<std::mutex>(pauseState().turn);
  // About four seconds in all.
  for (int milliseconds = 1; milliseconds <= 2048; milliseconds *= 2) {
    drainAllDevices();
    if (tryStop(milliseconds)) {
      host_ = std::unique_lock<std::shared_mutex>(pauseState().access);
      return SOFT_OK;
    }
    resume();
  }
  turn_.unlock();
  return fail(SOFT_NOT_READY,
              "%s: the devices' work does not pause, since running tasks wait "
              "for others; synchronize the streams and try again",
              function);
}

bool WorkPause::tryStop(int milliseconds) {
  process_flags.paused.store(true, std::memory_order_seq_cst);
  heavyBarrier();  // see Note [Asymmetric barrier]
  const auto end = std::chrono::steady_clock::now() +
                   std::chrono::milliseconds(milliseconds);
  while (!allQuiet()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  return true;
}

void WorkPause::resume() {
  std::lock_guard<std::mutex> lock(pauseState().mutex);
  process_flags.paused.store(false, std::memory_order_seq_cst);
  pauseState().resumed.notify_all();
}

WorkPause::~WorkPause() {
  if (host_.owns_lock()) resume();
}

HostAccess::HostAccess() : lock_(pauseState().access) {}

void waitForResume() {
  std::unique_lock<std::mutex> lock(pauseState().mutex);
  pauseState().resumed.wait(lock, [] { return !isPaused(); });
}

}  // namespace dipu::softdevice
