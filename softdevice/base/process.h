// SPDX-License-Identifier: Apache-2.0
//
// What the whole process shares: whether devices may still be used, and the
// memory barrier that lets the fast paths do without one.
#pragma once

#include <atomic>

#include "softdevice/softdevice.h"

namespace dipu::softdevice {

enum class ProcessState : int {
  kRunning,
  kExiting,  // exit() has been called; workers take no further task
  kForked,   // a child of a process that had used a device: no worker exists
};

// Alone on its line because every launch reads it.
struct alignas(64) ProcessFlags {
  std::atomic<ProcessState> state{ProcessState::kRunning};
  // Workers begin no task, see Note [Pausing].
  std::atomic<bool> paused{false};
  // Set before the first stream exists, see Note [Asymmetric barrier].
  std::atomic<bool> has_membarrier{false};
};
extern ProcessFlags process_flags;

inline bool processIsRunning() {
  return process_flags.state.load(std::memory_order_relaxed) ==
         ProcessState::kRunning;
}

// The error for a call after exit() or in a forked child.
soft_status failProcessState(const char* function);

// Registers the exit and fork handlers, once, when the first device is used.
void watchProcess();

// Note [Asymmetric barrier]
// A thread that wants to sleep announces that and then looks for work once
// more; a thread that brings work publishes it and then looks for sleepers.
// Either side needs a full barrier between its two steps. Publishing happens
// millions of times per second and sleeping rarely, so the sleeper pays for
// both: membarrier(2) makes every running thread of the process execute a
// barrier. Where the kernel refuses it, both sides pay.
inline void lightBarrier() {
  if (process_flags.has_membarrier.load(std::memory_order_relaxed)) {
    std::atomic_signal_fence(std::memory_order_seq_cst);
  } else {
    std::atomic<int> local{0};
    local.fetch_add(1, std::memory_order_seq_cst);
  }
}
void heavyBarrier();

}  // namespace dipu::softdevice
