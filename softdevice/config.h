// SPDX-License-Identifier: Apache-2.0
//
// Settings from the environment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace dipu::softdevice {

constexpr int32_t kMaxDevices = 16;

struct Config {
  int32_t device_count = 2;
  std::size_t device_memory = 0;  // bytes, a multiple of kMemoryGranule
  int64_t spin_us = 200;          // 0: idle workers sleep at once
  int32_t team_threads = 1;       // threads of one kernel
  int32_t cores = 1;              // that this process may run on
  std::string error;              // not empty: what is wrong with the values
};

// Device memory is counted in pieces of this size (bytes).
constexpr std::size_t kMemoryGranule = 512;

// Reads the environment; called by config() and by tests.
Config readConfig();

// The process's settings, read at the first call.
const Config& config();

}  // namespace dipu::softdevice
