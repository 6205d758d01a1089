// SPDX-License-Identifier: Apache-2.0
//
// Which addresses of a range are free.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace dipu::softdevice {

// Free blocks are joined with their neighbours, and taken first fit from the
// lowest address. Not thread-safe.
class AddressSpace {
 public:
  struct Range {
    uintptr_t from = 0;
    uintptr_t to = 0;  // behind the last
  };

  AddressSpace() = default;
  explicit AddressSpace(Range all) { give(all.from, all.to - all.from); }

  // False when no free block holds `bytes` from a multiple of `alignment`.
  bool take(std::size_t bytes, std::size_t alignment, uintptr_t* out_start);
  // False unless all of these addresses are free.
  bool takeAt(uintptr_t start, std::size_t bytes);
  // Returns the free block that the addresses are now part of.
  Range give(uintptr_t start, std::size_t bytes);

 private:
  using Blocks = std::map<uintptr_t, std::size_t>;  // start -> length

  void cut(Blocks::iterator block, uintptr_t start, std::size_t bytes);

  Blocks free_;
};

// `value` rounded up or down to a multiple of `to`.
constexpr std::size_t roundUp(std::size_t value, std::size_t to) {
  return (value + to - 1) / to * to;
}
constexpr std::size_t roundDown(std::size_t value, std::size_t to) {
  return value / to * to;
}

}  // namespace dipu::softdevice
