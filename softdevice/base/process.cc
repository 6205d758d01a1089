// SPDX-License-Identifier: Apache-2.0
#include "softdevice/base/process.h"

#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>

#include "softdevice/base/status.h"
#include "softdevice/device/device.h"

namespace dipu::softdevice {
namespace {

void onExit() {
  // A forked child has no workers to wait for.
  ProcessState expected = ProcessState::kRunning;
  if (process_flags.state.compare_exchange_strong(expected,
                                                  ProcessState::kExiting)) {
    waitForRunningTasks();
  }
}

void onForkInChild() {
  process_flags.state.store(ProcessState::kForked, std::memory_order_seq_cst);
}

}  // namespace

ProcessFlags process_flags;

soft_status failProcessState(const char* function) {
  const auto state = process_flags.state.load(std::memory_order_relaxed);
  if (state == ProcessState::kForked) {
    return fail(SOFT_NOT_PERMITTED,
                "%s: this process was forked after its parent had used a "
                "device, and the device's threads do not survive fork; start "
                "it with 'spawn' or 'forkserver', or fork before first use",
                function);
  }
  return fail(SOFT_NOT_PERMITTED, "%s: the process is exiting", function);
}

void watchProcess() {
  const long registered =
      syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
  process_flags.has_membarrier.store(registered == 0,
                                     std::memory_order_relaxed);
  pthread_atfork(nullptr, nullptr, onForkInChild);
  std::atexit(onExit);
}

void heavyBarrier() {
  if (process_flags.has_membarrier.load(std::memory_order_relaxed)) {
    syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
  } else {
    std::atomic<int> local{0};
    local.fetch_add(1, std::memory_order_seq_cst);
  }
}

}  // namespace dipu::softdevice
