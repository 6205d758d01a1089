// SPDX-License-Identifier: Apache-2.0
//
// Decisions taken from a fuzzer's input.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dipu::fuzz {

class Bytes {
 public:
  Bytes(const uint8_t* data, std::size_t size) : next_(data), left_(size) {}

  bool empty() const { return left_ == 0; }
  // 0 once the input has ended.
  uint8_t byte() {
    if (left_ == 0) return 0;
    --left_;
    return *next_++;
  }
  // A number below `limit`, which is at least 1 and at most 65536.
  std::size_t below(std::size_t limit) {
    const std::size_t high = limit > 256 ? byte() : 0;
    return (high * 256 + byte()) % limit;
  }

 private:
  const uint8_t* next_;
  std::size_t left_;
};

}  // namespace dipu::fuzz
