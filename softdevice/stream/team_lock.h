// SPDX-License-Identifier: Apache-2.0
//
// Whose turn it is to use a device's team of threads.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <mutex>

namespace dipu::softdevice {

// A mutex that is handed to the most urgent waiter, and among equals to the one
// that has waited longest. Taking it while it is free is one atomic operation.
class TeamLock {
 public:
  // Lower is more urgent.
  void lock(int32_t priority) {
    State expected = kFree;
    if (!state_.compare_exchange_strong(expected, kTaken,
                                        std::memory_order_acquire)) {
      wait(priority);
    }
  }
  void unlock() {
    State expected = kTaken;
    if (!state_.compare_exchange_strong(expected, kFree,
                                        std::memory_order_release)) {
      handOver();
    }
  }
  // How many wait now.
  int32_t waiters() const;

 private:
  enum State : int { kFree, kTaken, kAwaited };
  struct Waiter {
    explicit Waiter(int32_t urgency) : priority(urgency) {}

    const int32_t priority;
    bool served = false;
    std::condition_variable turn;
  };

  void wait(int32_t priority);
  void handOver();

  std::atomic<State> state_{kFree};
  mutable std::mutex mutex_;    // guards waiters_; nothing is locked under it
  std::list<Waiter*> waiters_;  // most urgent first
};

// Gives back the team that the calling worker's task has left without
// soft_team_end, by throwing. Does nothing if there is none.
void leaveTeam();

}  // namespace dipu::softdevice
