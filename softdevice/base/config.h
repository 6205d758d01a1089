// SPDX-License-Identifier: Apache-2.0
//
// Settings from the environment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "softdevice/debug/fault_rule.h"

namespace dipu::softdevice {

constexpr int32_t kMaxDevices = 16;
constexpr std::size_t kMaxTraceEntries = std::size_t{1} << 20;

struct Config {
  int32_t device_count = 2;
  std::size_t device_memory = 0;  // bytes, a multiple of kMemoryGranule
  int64_t spin_us = 200;          // 0: idle workers sleep at once
  int32_t team_threads = 1;       // threads of one kernel
  int32_t cores = 1;              // that this process may run on
  // Debugging that is on from the start, see soft_debug.h.
  std::vector<FaultRule> faults;
  bool has_schedule = false;
  uint64_t schedule_seed = 0;
  std::size_t trace_entries = 0;  // 0: no trace
  bool counters = false;
  std::string error;  // not empty: what is wrong with the values
};

// Device memory is counted in pieces of this size (bytes).
constexpr std::size_t kMemoryGranule = 512;

// Reads the environment; called by config() and by tests.
Config readConfig();

// The process's settings, read at the first call.
const Config& config();

}  // namespace dipu::softdevice
