// SPDX-License-Identifier: Apache-2.0
#include "softdevice/memory/address_space.h"

#include <iterator>

namespace dipu::softdevice {

bool AddressSpace::take(std::size_t bytes, std::size_t alignment,
                        uintptr_t* out_start) {
  for (auto block = free_.begin(); block != free_.end(); ++block) {
    const uintptr_t to = block->first + block->second;
    const uintptr_t start = roundUp(block->first, alignment);
    if (start > to || bytes > to - start) continue;
    cut(block, start, bytes);
    *out_start = start;
    return true;
  }
  return false;
}

bool AddressSpace::takeAt(uintptr_t start, std::size_t bytes) {
  auto block = free_.upper_bound(start);
  if (block == free_.begin()) return false;
  --block;
  const uintptr_t to = block->first + block->second;
  if (start >= to || bytes > to - start) return false;
  cut(block, start, bytes);
  return true;
}

void AddressSpace::cut(Blocks::iterator block, uintptr_t start,
                       std::size_t bytes) {
  const uintptr_t from = block->first;
  const uintptr_t to = from + block->second;
  free_.erase(block);
  if (start > from) free_[from] = start - from;
  if (start + bytes < to) free_[start + bytes] = to - start - bytes;
}

AddressSpace::Range AddressSpace::give(uintptr_t start, std::size_t bytes) {
  Range joined{start, start + bytes};
  auto next = free_.lower_bound(start);
  if (next != free_.end() && next->first == joined.to) {
    joined.to += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    const auto previous = std::prev(next);
    if (previous->first + previous->second == joined.from) {
      joined.from = previous->first;
      free_.erase(previous);
    }
  }
  free_[joined.from] = joined.to - joined.from;
  return joined;
}

}  // namespace dipu::softdevice
