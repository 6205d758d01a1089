// SPDX-License-Identifier: Apache-2.0
//
// The lock of the allocator's hot path.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

namespace dipu::allocator {

// Costs one atomic exchange to take and a plain store to release, half of a
// mutex. Critical sections are tens of nanoseconds, rarely a few microseconds;
// a waiter spins, then yields, then sleeps, so that a holder that lost its CPU,
// even one of lower priority, gets on. Works with std::lock_guard.
class SpinLock {
 public:
  void lock() noexcept {
    if (__builtin_expect(held_.exchange(true, std::memory_order_acquire), 0)) {
      wait();
    }
  }

  void unlock() noexcept { held_.store(false, std::memory_order_release); }

 private:
  static constexpr int kSpins = 64;
  static constexpr int kYields = 64;

  __attribute__((noinline)) void wait() noexcept {
    for (int attempt = 0;; ++attempt) {
      // Reading first keeps the cache line shared while the lock is held.
      if (!held_.load(std::memory_order_relaxed) &&
          !held_.exchange(true, std::memory_order_acquire)) {
        return;
      }
      if (attempt < kSpins) {
        __builtin_ia32_pause();
      } else if (attempt < kSpins + kYields) {
        std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      }
    }
  }

  std::atomic<bool> held_{false};
};

}  // namespace dipu::allocator
