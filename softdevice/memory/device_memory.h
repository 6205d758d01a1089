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

#include "softdevice/ipc/shared_file.h"
#include "softdevice/memory/address_space.h"
#include "softdevice/memory/virtual_memory.h"
#include "softdevice/softdevice.h"

namespace dipu::softdevice {

// Advises the system about backing: huge pages, and not for forked children.
void adviseBacking(void* start, std::size_t bytes);

// An allocation as another process may map it.
struct SharedPart {
  std::shared_ptr<SharedFile> file;
  uint32_t offset = 0;    // of the allocation in the file, less than a page
  std::size_t bytes = 0;  // of the allocation
};

// Note [Isolated addresses]
// One mapping without access rights holds, one after the other, the range
// whose addresses are handed out, a gap, and the range that backs it. Only the
// backing is then made accessible. The gap grows with the device's index, so a
// translation with another device's distance is never right by accident.
//
// The range has two areas: first the heap, whose backing is always accessible,
// then the one of virtual_memory.h.
//
// Note [Pages of an allocation]
// An allocation of a page or more has its pages for itself, and a smaller one
// lies within one page. So sharing an allocation shares as little as possible,
// and freeing it gives back all of its pages.
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

  VirtualMemory& virtualMemory() const { return *virtual_; }

  // Counts memory as used, or fails with SOFT_OUT_OF_MEMORY. Both lock.
  soft_status charge(const char* function, std::size_t bytes);
  void discharge(std::size_t bytes);

  // All below but translate() lock. allocate() takes `bytes` > 0.
  soft_status allocate(std::size_t bytes, void** out_ptr);
  // Gives the pages back to the machine. False: not the start of a block.
  bool release(void* ptr);
  // Also what other processes exported, and virtual memory.
  void releaseAll();
  std::size_t used() const;

  // Finds the allocation at `ptr` in shared memory. If it is not there it is
  // moved, which work must not notice (pause.h); without `may_move` the
  // result then has no file.
  soft_status share(const char* function, const void* ptr, bool may_move,
                    SharedPart* out_part);
  // Maps what another process shares, or counts one more open of it.
  soft_status open(const char* function, const SharedPart& part,
                   void** out_ptr);
  // Ends one open. False: open() did not return it.
  bool close(const void* ptr);
  // Whether open() returned it.
  bool isOpened(const void* ptr) const;

  // Start and length of the allocation or mapping that holds `ptr`.
  bool find(const void* ptr, uintptr_t* out_start,
            std::size_t* out_bytes) const;
  // Where [ptr, ptr + bytes) can be read and written; nullptr unless it lies in
  // one allocation, or in virtual memory that any device may use.
  void* backingOf(const void* ptr, std::size_t bytes) const;

  // As soft_translate sees it for work of this device and memory of the heap:
  // backing address of a range that starts and ends in parts of kPart bytes in
  // which something is allocated, else nullptr. Lock-free and fast: this is
  // what every tensor of every launch passes through.
  void* translate(const void* ptr, std::size_t bytes) const {
    const uintptr_t at = offsetOf(ptr);
    if (at >= heap_bytes_ || bytes > heap_bytes_ - at) return nullptr;
    const uintptr_t last = bytes == 0 ? at : at + bytes - 1;
    if (!partInUse(at) || !partInUse(last)) return nullptr;
    return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(ptr) +
                                   static_cast<uintptr_t>(map_.offset));
  }
  // The same for virtual memory, each part of which `device` must have access
  // to. Lock-free.
  void* translateVirtual(int32_t device, const void* ptr,
                         std::size_t bytes) const;

 private:
  // Size and alignment of a huge page.
  static constexpr int kPartShift = VirtualMemory::kPartShift;
  static constexpr std::size_t kPart = VirtualMemory::kPart;

  using Range = AddressSpace::Range;

  struct Block {
    std::size_t bytes;  // that may be used
    Range occupied;     // see Note [Pages of an allocation]
    uint64_t opened_id = 0;
    int32_t opens = 0;  // 0: allocated here
  };
  // Pages that go to a file, or lie in it.
  struct SharedPages {
    std::shared_ptr<SharedFile> file;
    uintptr_t from;
    uintptr_t moved;  // those before lie in the file
  };
  // By their start. Addresses count from the start of the range here and below.
  using Blocks = std::map<uintptr_t, Block>;

  bool partInUse(uintptr_t at) const {
    return parts_[at >> kPartShift].load(std::memory_order_relaxed) != 0;
  }
  uintptr_t offsetOf(const void* ptr) const {
    return reinterpret_cast<uintptr_t>(ptr) - map_.base;
  }
  char* backing(uintptr_t at) const {
    return reinterpret_cast<char*>(map_.base + map_.offset + at);
  }

  void reserve();
  bool mapFile(const Range& pages, const SharedFile& file, std::size_t offset);
  void mapPrivate(const Range& pages);

  // The mutex is held by the callers of all below.
  soft_status checkRoom(const char* function, std::size_t bytes) const;
  bool takeBlock(std::size_t bytes, Block* out_block);
  void dropBlock(const Block& block);
  void dropPages(const Range& pages, bool opened);
  void countParts(const Range& range, int32_t difference);
  Blocks::const_iterator blockOf(const void* ptr) const;
  Blocks::iterator findOpened(const SharedPart& part);
  soft_status movePages(const char* function, const Range& pages);
  bool moveToFile(uintptr_t to, SharedPages* shared);

  const std::size_t capacity_;
  void* mapping_ = nullptr;
  std::size_t mapping_bytes_ = 0;
  soft_address_map map_;
  std::size_t heap_bytes_ = 0;
  std::unique_ptr<VirtualMemory> virtual_;
  // Number of allocations that touch each part of the heap.
  std::unique_ptr<std::atomic<int32_t>[]> parts_;
  mutable std::mutex mutex_;  // guards all below; nothing is locked under it
  AddressSpace free_;
  Blocks blocks_;
  std::size_t used_ = 0;
  // Own pages that other processes may map, by the first page's start.
  std::map<uintptr_t, SharedPages> shared_;
};

}  // namespace dipu::softdevice
