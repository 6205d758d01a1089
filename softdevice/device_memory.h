// SPDX-License-Identifier: Apache-2.0
//
// Memory of one device: the reserved addresses, what backs them, and which
// parts are allocated.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "softdevice/softdevice.h"

namespace dipu::softdevice {

// Note [Isolated addresses]
// One mapping without access rights holds, one after the other, the range
// whose addresses are handed out, a gap, and the range that backs it. Only the
// backing is then made accessible. The gap grows with the device's index, so a
// translation with another device's distance is never right by accident.
class DeviceMemory {
 public:
  DeviceMemory(int32_t device, std::size_t capacity);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  // False when the machine did not grant the address ranges.
  bool valid() const { return map_.base != 0; }
  const soft_address_map& map() const { return map_; }
  std::size_t capacity() const { return capacity_; }

  // The three below lock. allocate() takes `bytes` > 0.
  soft_status allocate(std::size_t bytes, void** out_ptr);
  // Gives the pages back to the machine. False: not the start of a block.
  bool release(void* ptr);
  void releaseAll();
  std::size_t used() const;

  // Start and length of the allocation that holds `ptr`. Locks.
  bool find(const void* ptr, uintptr_t* out_start,
            std::size_t* out_bytes) const;
  // Whether [ptr, ptr + bytes) lies in one allocation. Locks.
  bool holds(const void* ptr, std::size_t bytes) const;

  // Backing address of a range that starts and ends in parts of kPart bytes
  // in which something is allocated, else nullptr. Lock-free and fast: this is
  // what every tensor of every launch passes through.
  void* translate(const void* ptr, std::size_t bytes) const {
    const uintptr_t at = reinterpret_cast<uintptr_t>(ptr) - map_.base;
    if (at >= map_.bytes || bytes > map_.bytes - at) return nullptr;
    const uintptr_t last = bytes == 0 ? at : at + bytes - 1;
    if (!partInUse(at) || !partInUse(last)) return nullptr;
    return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(ptr) +
                                   static_cast<uintptr_t>(map_.offset));
  }

 private:
  static constexpr int kPartShift = 21;
  // Size and alignment of a huge page.
  static constexpr std::size_t kPart = std::size_t{1} << kPartShift;

  using Blocks = std::map<uintptr_t, std::size_t>;  // start in range -> length

  bool partInUse(uintptr_t at) const {
    return parts_[at >> kPartShift].load(std::memory_order_relaxed) != 0;
  }
  void reserve();
  bool takeBlock(std::size_t bytes, uintptr_t* out_start);
  void addFree(uintptr_t start, std::size_t bytes);
  void countParts(uintptr_t start, std::size_t bytes, int32_t difference);
  Blocks::const_iterator blockOf(const void* ptr) const;

  const std::size_t capacity_;
  void* mapping_ = nullptr;
  std::size_t mapping_bytes_ = 0;
  soft_address_map map_;
  // Number of allocations that touch each part of the range.
  std::unique_ptr<std::atomic<int32_t>[]> parts_;
  mutable std::mutex mutex_;  // guards all below; nothing is locked under it
  Blocks free_;
  Blocks used_blocks_;
  std::size_t used_ = 0;
};

}  // namespace dipu::softdevice
