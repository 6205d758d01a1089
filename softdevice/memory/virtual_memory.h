// SPDX-License-Identifier: Apache-2.0
//
// The addresses of a device behind which memory is mapped on request.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "softdevice/ipc/shared_file.h"
#include "softdevice/memory/address_space.h"
#include "softdevice/soft_virtual_memory.h"

namespace dipu::softdevice {

class DeviceMemory;

// Memory without an address. It is a file, since only files can be mapped more
// than once. Counts as used memory of its device while it exists.
class PhysicalMemory {
 public:
  static soft_status create(DeviceMemory* owner, std::size_t bytes,
                            std::shared_ptr<PhysicalMemory>* out);
  ~PhysicalMemory();
  PhysicalMemory(const PhysicalMemory&) = delete;
  PhysicalMemory& operator=(const PhysicalMemory&) = delete;

  const SharedFile& file() const { return *file_; }

 private:
  PhysicalMemory(DeviceMemory* owner, std::shared_ptr<SharedFile> file)
      : owner_(owner), file_(std::move(file)) {}

  DeviceMemory* const owner_;
  const std::shared_ptr<SharedFile> file_;
};

// Note [Access to parts]
// Each part of kPart bytes has a word in which bit d says that device d may use
// it. Kernels look at these words without a lock, at each part of a range. The
// backing is accessible while any bit is set. Taking a bit away comes before
// waiting for work, and that before the backing goes.
//
// Addresses are those that are handed out. Lock order: changes_, mutex_, then
// the device memory's mutex.
class VirtualMemory {
 public:
  using Range = AddressSpace::Range;
  static constexpr int kPartShift = 21;
  static constexpr std::size_t kPart = std::size_t{1} << kPartShift;

  // `range` starts and ends at a part; nothing behind it is accessible.
  VirtualMemory(DeviceMemory* owner, Range range, intptr_t backing_offset);

  bool covers(uintptr_t at) const {
    return range_.from <= at && at < range_.to;
  }

  // What soft_virtual_memory.h says. Ranges are not checked by the caller.
  soft_status reserve(std::size_t bytes, std::size_t alignment, uintptr_t hint,
                      void** out_ptr);
  soft_status release(Range range);
  soft_status create(std::size_t bytes, soft_vm_memory* out_memory);
  soft_status destroy(soft_vm_memory memory);
  soft_status map(Range range, soft_vm_memory memory, std::size_t offset);
  soft_status unmap(Range range);
  soft_status setAccess(Range range, int32_t device, bool allowed);
  bool hasAccess(uintptr_t at, int32_t device) const;
  // Ends all of it; addresses that the system refuses to free are not handed
  // out again. No work runs.
  void reset();

  // Lock-free: whether `device` may use all of the range.
  bool mayUse(int32_t device, uintptr_t at, std::size_t bytes) const {
    return allParts(at, bytes, uint32_t{1} << device);
  }
  // Lock-free: whether any device may use each part of the range.
  bool isAccessible(uintptr_t at, std::size_t bytes) const {
    return allParts(at, bytes, ~uint32_t{0});
  }
  // The mapping that holds `at`.
  bool find(uintptr_t at, Range* out_range) const;

 private:
  struct Mapping {
    uintptr_t to;
    std::shared_ptr<PhysicalMemory> memory;
  };

  std::atomic<uint32_t>& accessOf(uintptr_t at) const {
    return access_[(at - range_.from) >> kPartShift];
  }
  bool allParts(uintptr_t at, std::size_t bytes, uint32_t mask) const;
  void* backing(uintptr_t at) const {
    return reinterpret_cast<void*>(at + backing_offset_);
  }
  // The error unless the range is not empty and made of whole parts.
  soft_status checkRange(const char* function, Range range) const;
  // Called with mutex_ held.
  bool isReserved(Range range) const;
  bool isMapped(Range range, bool whole) const;
  bool overlapsMapping(Range range) const;
  bool holdAddresses(Range range, int fixed) const;
  bool unback(Range range);
  // Called with changes_ held.
  void forbid(Range range, uint32_t devices);

  DeviceMemory* const owner_;
  const Range range_;
  const intptr_t backing_offset_;
  std::unique_ptr<std::atomic<uint32_t>[]> access_;
  std::mutex changes_;  // held by all that change reservations and mappings
  mutable std::mutex mutex_;  // guards what follows
  AddressSpace free_;
  std::map<uintptr_t, uintptr_t> reservations_;  // from -> to
  std::map<uintptr_t, Mapping> mappings_;        // by their start
  std::map<soft_vm_memory, std::shared_ptr<PhysicalMemory>> memories_;
};

// The device that a handle of memory belongs to; it may never have been used.
int32_t deviceOfMemory(soft_vm_memory memory);

}  // namespace dipu::softdevice
