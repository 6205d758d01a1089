// SPDX-License-Identifier: Apache-2.0
#include "softdevice/debug/schedule.h"

#include <algorithm>
#include <vector>

#include "softdevice/device/device.h"
#include "softdevice/stream/stream.h"

namespace dipu::softdevice {
namespace {

constexpr int64_t kNoLimit = -1;
// How long a query waits for the task it has chosen.
constexpr int64_t kQueryLimitMs = 1000;
// How often a thread that has nothing to choose looks again.
constexpr int64_t kLookAgainMs = 1;

struct Runnable {
  soft_stream* stream;
  uint64_t position;  // of the task
};

// Streams whose next task can run, in the order of their ids.
std::vector<Runnable> runnableStreams() {
  std::vector<Runnable> result;
  for (int32_t index = 0; index < kMaxDevices; ++index) {
    const Device* device = existingDevice(index);
    if (device == nullptr) continue;
    device->visitStreams([&](soft_stream* stream) {
      // Before the look: a task that began before there was a schedule may end
      // at any time, and what is behind it may not exist.
      const uint64_t position = stream->completed() + 1;
      if (stream != soft_stream::current() && isRunnable(*stream)) {
        result.push_back({stream, position});
      }
    });
  }
  std::sort(result.begin(), result.end(),
            [](const Runnable& left, const Runnable& right) {
              return left.stream->id() < right.stream->id();
            });
  return result;
}

}  // namespace

Schedule& schedule() {
  // Never destroyed: workers wait in it while the process exits.
  static Schedule* const only = new Schedule;
  return *only;
}

void Schedule::set(uint64_t seed) {
  drainAllDevices();
  {
    std::lock_guard<std::mutex> lock(mutex_);
    state_ = seed;
    steps_ = 0;
  }
  setObserving(kSchedule, true);
}

void Schedule::clear() {
  drainAllDevices();
  setObserving(kSchedule, false);
  std::lock_guard<std::mutex> lock(mutex_);
  steps_ = 0;
  changed_.notify_all();
}

uint64_t Schedule::steps() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return steps_;
}

// SplitMix64: every seed, 0 included, starts a sequence of its own.
uint64_t Schedule::random() {
  state_ += 0x9e3779b97f4a7c15u;
  uint64_t value = state_;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

void Schedule::awaitTurn(soft_stream* stream) {
  stream->setWaiting(true);
  {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock,
                  [&] { return granted_ == stream || !observing(kSchedule); });
    if (granted_ == stream) granted_ = nullptr;
  }
  stream->setWaiting(false);
  stream->stopAtExit();
}

Schedule::Choice Schedule::choose() {
  const std::vector<Runnable> streams = runnableStreams();
  if (streams.empty()) return {};
  std::lock_guard<std::mutex> lock(mutex_);
  const Runnable& chosen = streams[random() % streams.size()];
  ++steps_;
  granted_ = chosen.stream;
  changed_.notify_all();
  return {chosen.stream, chosen.position};
}

bool Schedule::runOne(int64_t limit_ms) {
  // Within a task, the one that waits for it holds the turn in its name.
  const bool within_task = soft_stream::current() != nullptr;
  std::unique_lock<std::mutex> turn(turn_, std::defer_lock);
  if (!within_task) {
    turn.lock();
    if (last_.stream != nullptr &&
        !last_.stream->await(last_.position, 0, limit_ms)) {
      return false;
    }
  }
  const Choice choice = choose();
  if (!within_task) last_ = choice;
  return choice.stream != nullptr &&
         choice.stream->await(choice.position, config().spin_us, limit_ms);
}

void Schedule::runUntil(soft_stream* stream, uint64_t position) {
  while (observing(kSchedule) && !stream->reached(position)) {
    // Nothing can run: what comes next hangs, or needs no turn.
    if (!runOne(kNoLimit)) stream->await(position, 0, kLookAgainMs);
  }
  stream->await(position, config().spin_us, kNoLimit);
}

void Schedule::step() { runOne(kQueryLimitMs); }

}  // namespace dipu::softdevice
