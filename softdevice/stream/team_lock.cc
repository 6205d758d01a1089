// SPDX-License-Identifier: Apache-2.0
#include "softdevice/stream/team_lock.h"

#include <algorithm>

namespace dipu::softdevice {

void TeamLock::wait(int32_t priority) {
  std::unique_lock<std::mutex> lock(mutex_);
  // From here on unlock() comes to handOver(), which needs the mutex.
  if (state_.exchange(kAwaited, std::memory_order_acquire) == kFree) {
    state_.store(kTaken, std::memory_order_relaxed);  // nobody waits
    return;
  }
  Waiter self(priority);
  const auto place = std::find_if(
      waiters_.begin(), waiters_.end(),
      [&](const Waiter* other) { return other->priority > priority; });
  waiters_.insert(place, &self);
  self.turn.wait(lock, [&] { return self.served; });
}

// The lock stays taken and changes hands. While it is awaited and the mutex
// free, somebody waits.
void TeamLock::handOver() {
  std::lock_guard<std::mutex> lock(mutex_);
  Waiter* const next = waiters_.front();
  waiters_.pop_front();
  if (waiters_.empty()) state_.store(kTaken, std::memory_order_relaxed);
  next->served = true;
  // Under the mutex: the waiter's structure ends as soon as it may go on.
  next->turn.notify_one();
}

int32_t TeamLock::waiters() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return static_cast<int32_t>(waiters_.size());
}

}  // namespace dipu::softdevice
