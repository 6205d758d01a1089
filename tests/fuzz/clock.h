// SPDX-License-Identifier: Apache-2.0
//
// What is known to have finished.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>

namespace dipu::fuzz {

// One operation: the `number`-th of a stream, counted from 1.
struct Operation {
  uint32_t stream = 0;
  uint64_t number = 0;  // 0: none
};

// For each stream how many of its operations are known to have finished: a
// vector clock. The host has one, each stream one for what its next operation
// waits for, and each event the one of its record.
class Clock {
 public:
  bool covers(const Operation& operation) const {
    if (operation.number == 0) return true;
    const auto found = finished_.find(operation.stream);
    return found != finished_.end() && found->second >= operation.number;
  }
  void add(const Operation& operation) {
    uint64_t& finished = finished_[operation.stream];
    finished = std::max(finished, operation.number);
  }
  void join(const Clock& other) {
    for (const auto& [stream, number] : other.finished_) add({stream, number});
  }

 private:
  std::map<uint32_t, uint64_t> finished_;
};

}  // namespace dipu::fuzz
