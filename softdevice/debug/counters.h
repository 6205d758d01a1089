// SPDX-License-Identifier: Apache-2.0
//
// How often kernels ran and how long, see soft_debug.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>

#include "softdevice/soft_debug.h"

namespace dipu::softdevice {

// Thread-safe.
class Counters {
 public:
  void add(const char* name, soft_task task, uint64_t nanoseconds);
  void reset();
  void read(soft_counter* out, std::size_t capacity,
            std::size_t* out_count) const;

 private:
  struct Sum {
    uint64_t launches = 0;
    uint64_t total = 0;
    uint64_t least = UINT64_MAX;
    uint64_t most = 0;
  };
  mutable std::mutex mutex_;  // guards all below; nothing is locked under it
  std::map<std::string, Sum> sums_;
  // Saves looking up a text per kernel; the sums live as long as the map's.
  std::unordered_map<const void*, Sum*> known_;
};

Counters& counters();

}  // namespace dipu::softdevice
