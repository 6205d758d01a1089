// SPDX-License-Identifier: Apache-2.0
//
// Faults that have been asked for, see soft_debug.h.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "softdevice/debug/fault_rule.h"
#include "softdevice/soft_debug.h"
#include "softdevice/stream/enqueue.h"

namespace dipu::softdevice {

class Device;

// What is to happen to one task on the worker.
struct Disturbance {
  bool hangs = false;
  uint64_t fails_by = 0;  // N of the fault "launch=N"; 0: the task runs
  uint64_t delay_us = 0;
  uint64_t releases = 0;  // when it was enqueued, see Faults::isReleased
};

// Thread-safe. The rules are looked at only while there are any.
class Faults {
 public:
  void add(const std::vector<FaultRule>& rules);
  void clear();
  void release();
  int32_t count() const;
  // False: there is no such fault.
  bool info(int32_t index, soft_fault_info* out_info) const;

  // A task is about to be enqueued. A failure says that it must not be.
  soft_status onEnqueue(soft_stream* stream, const Task& task,
                        Disturbance* out);
  // Memory is about to be allocated.
  soft_status onAllocate(Device* device, std::size_t bytes);
  soft_status onHostAllocate(std::size_t bytes);

  bool isReleased(const Disturbance& disturbance) const {
    return !disturbance.hangs ||
           releases_.load(std::memory_order_acquire) != disturbance.releases;
  }
  // Called by the stream's worker; blocks until released.
  void hang(soft_stream* stream, const Disturbance& disturbance);

 private:
  struct Fault {
    FaultRule rule;
    uint64_t seen = 0;
    uint64_t fired = 0;
  };
  // Counts an occasion; true if it is one on which the fault strikes.
  static bool strikes(Fault* fault);
  soft_status disturb(Fault* fault, soft_stream* stream, const Task& task,
                      Disturbance* out);
  soft_status refuseMemory(Fault* fault, Device* device, std::size_t bytes);

  mutable std::mutex mutex_;  // guards faults_; a device's mutex comes after it
  std::vector<Fault> faults_;
  std::atomic<uint64_t> releases_{0};  // written under mutex_
  std::condition_variable released_;
};

Faults& faults();

// Before an allocation: what injected faults say about it.
soft_status checkFaults(Device* device, std::size_t bytes);
soft_status checkHostFaults(std::size_t bytes);

}  // namespace dipu::softdevice
