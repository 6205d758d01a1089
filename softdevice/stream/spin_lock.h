// SPDX-License-Identifier: Apache-2.0
//
// A lock for a few instructions, and how to poll politely.
#pragma once

#include <sched.h>

#include <atomic>
#include <chrono>
#include <cstdint>

namespace dipu::softdevice {

inline void cpuRelax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ __volatile__("yield");
#endif
}

// Test-and-set: producers of one stream hardly ever meet.
class SpinLock {
 public:
  void lock() {
    for (int tries = 0; flag_.test_and_set(std::memory_order_acquire);) {
      cpuRelax();
      // The holder may have lost its processor.
      if (++tries % 64 == 0) sched_yield();
    }
  }
  void unlock() { flag_.clear(std::memory_order_release); }

 private:
  std::atomic_flag flag_ = ATOMIC_FLAG_INIT;
};

// Polls `done` for up to `spin_us` microseconds. The first ones are spent at
// full speed; then other threads may have the processor between polls.
template <typename Done>
bool pollFor(int64_t spin_us, const Done& done) {
  if (done()) return true;
  if (spin_us <= 0) return false;
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  const auto polite = start + std::chrono::microseconds(3);
  const auto end = start + std::chrono::microseconds(spin_us);
  for (int polls = 1;; ++polls) {
    for (int pause = 0; pause < 8; ++pause) cpuRelax();
    if (done()) return true;
    if (polls % 16 != 0) continue;
    const auto now = Clock::now();
    if (now >= end) return false;
    if (now >= polite) sched_yield();
  }
}

}  // namespace dipu::softdevice
