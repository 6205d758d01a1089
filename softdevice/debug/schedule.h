// SPDX-License-Identifier: Apache-2.0
//
// Runs the tasks of all streams one at a time in an order chosen by a seed.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "softdevice/debug/observe.h"
#include "softdevice/softdevice.h"

namespace dipu::softdevice {

// Note [Schedule]
// Every worker stops before its next observed task until that task is chosen.
// Choosing happens on the thread that waits for a position: it takes a stream
// among those whose next task could run, lets it run that one task, waits for
// its end, and repeats until the position is reached. While it does, that
// thread enqueues nothing, so what there is to choose from depends on the
// program's calls and on earlier choices, never on how fast anybody was.
//
// A task that must itself wait (it enqueues to a full ring) chooses in the name
// of the thread that waits for it.
class Schedule {
 public:
  // Both wait for all work.
  void set(uint64_t seed);
  void clear();
  uint64_t steps() const;

  // Called by a worker; returns when its next task has been chosen.
  void awaitTurn(soft_stream* stream);
  // Runs tasks until `stream` has reached `position`.
  void runUntil(soft_stream* stream, uint64_t position);
  // Runs one task, if one can run.
  void step();

 private:
  struct Choice {
    soft_stream* stream = nullptr;
    uint64_t position = 0;
  };
  Choice choose();
  // False if there was nothing to run, or it still runs after the time limit.
  bool runOne(int64_t limit_ms);
  uint64_t random();

  // Held by the thread that chooses, and while it waits. Order: see device.h.
  std::mutex turn_;
  Choice last_;  // guarded by turn_: what may still run

  mutable std::mutex mutex_;  // guards all below; nothing is locked under it
  uint64_t state_ = 0;        // of random()
  uint64_t steps_ = 0;
  soft_stream* granted_ = nullptr;
  std::condition_variable changed_;
};

Schedule& schedule();

// A query is about to answer "not ready": lets one task run.
inline void schedulePoint() {
  if (observing(kSchedule)) schedule().step();
}

}  // namespace dipu::softdevice
