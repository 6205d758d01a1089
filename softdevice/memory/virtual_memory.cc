// SPDX-License-Identifier: Apache-2.0
#include "softdevice/memory/virtual_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <utility>

#include "softdevice/base/status.h"
#include "softdevice/device/device.h"
#include "softdevice/memory/device_memory.h"

namespace dipu::softdevice {
namespace {

std::atomic<uint64_t> next_memory{1};

// The low bits of a handle name its device.
constexpr int kDeviceBits = 8;

void* pointer(uintptr_t at) { return reinterpret_cast<void*>(at); }

}  // namespace

int32_t deviceOfMemory(soft_vm_memory memory) {
  return static_cast<int32_t>(memory & ((1 << kDeviceBits) - 1));
}

soft_status PhysicalMemory::create(DeviceMemory* owner, std::size_t bytes,
                                   std::shared_ptr<PhysicalMemory>* out) {
  if (soft_status status = owner->charge("soft_vm_create", bytes)) {
    return status;
  }
  std::shared_ptr<SharedFile> file;
  if (soft_status status = SharedFile::create("soft_vm_create", bytes, &file)) {
    owner->discharge(bytes);
    return status;
  }
  out->reset(new PhysicalMemory(owner, std::move(file)));
  return SOFT_OK;
}

PhysicalMemory::~PhysicalMemory() { owner_->discharge(file_->bytes()); }

VirtualMemory::VirtualMemory(DeviceMemory* owner, Range range,
                             intptr_t backing_offset)
    : owner_(owner),
      range_(range),
      backing_offset_(backing_offset),
      access_(std::make_unique<std::atomic<uint32_t>[]>(
          (range.to - range.from) >> kPartShift)),
      free_(range) {}

bool VirtualMemory::allParts(uintptr_t at, std::size_t bytes,
                             uint32_t mask) const {
  if (!covers(at) || bytes > range_.to - at) return false;
  const uintptr_t end = at + std::max<std::size_t>(bytes, 1);
  for (uintptr_t part = roundDown(at, kPart); part < end; part += kPart) {
    if ((accessOf(part).load(std::memory_order_acquire) & mask) == 0) {
      return false;
    }
  }
  return true;
}

soft_status VirtualMemory::checkRange(const char* function, Range range) const {
  if (range.from % kPart == 0 && range.to % kPart == 0 &&
      range.from < range.to && covers(range.from) && range.to <= range_.to) {
    return SOFT_OK;
  }
  return fail(SOFT_INVALID_VALUE,
              "%s: the range %p to %p is not made of multiples of %zu bytes of "
              "addresses that soft_vm_reserve gave",
              function, pointer(range.from), pointer(range.to), kPart);
}

bool VirtualMemory::isReserved(Range range) const {
  auto reservation = reservations_.upper_bound(range.from);
  if (reservation == reservations_.begin()) return false;
  --reservation;
  return range.to <= reservation->second;
}

// Whether mappings cover the range without gaps; `whole`: they also start and
// end with it.
bool VirtualMemory::isMapped(Range range, bool whole) const {
  auto mapping = mappings_.upper_bound(range.from);
  if (mapping == mappings_.begin()) return false;
  --mapping;
  if (whole && mapping->first != range.from) return false;
  uintptr_t at = range.from;
  for (; mapping != mappings_.end() && at < range.to; ++mapping) {
    if (mapping->first > at || mapping->second.to <= at) return false;
    at = mapping->second.to;
  }
  return whole ? at == range.to : at >= range.to;
}

bool VirtualMemory::overlapsMapping(Range range) const {
  auto next = mappings_.lower_bound(range.from);
  if (next != mappings_.end() && next->first < range.to) return true;
  return next != mappings_.begin() && std::prev(next)->second.to > range.from;
}

soft_status VirtualMemory::reserve(std::size_t bytes, std::size_t alignment,
                                   uintptr_t hint, void** out_ptr) {
  if (bytes == 0 || bytes % kPart != 0 || (alignment & (alignment - 1)) != 0) {
    return fail(SOFT_INVALID_VALUE,
                "soft_vm_reserve: %zu bytes are not a multiple of %zu, or the "
                "alignment %zu is no power of two",
                bytes, kPart, alignment);
  }
  const std::lock_guard<std::mutex> change(changes_);
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::size_t step = std::max(alignment, kPart);
  uintptr_t start = hint;
  const bool at_hint =
      hint != 0 && hint % step == 0 && free_.takeAt(hint, bytes);
  if (!at_hint &&
      (bytes > range_.to - range_.from || !free_.take(bytes, step, &start))) {
    return fail(SOFT_OUT_OF_MEMORY,
                "soft_vm_reserve: the device's addresses have no gap of %zu "
                "bytes; release reservations that are no longer used",
                bytes);
  }
  reservations_[start] = start + bytes;
  *out_ptr = pointer(start);
  return SOFT_OK;
}

soft_status VirtualMemory::release(Range range) {
  const std::lock_guard<std::mutex> change(changes_);
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = reservations_.find(range.from);
  if (found == reservations_.end() || found->second != range.to) {
    return fail(SOFT_INVALID_VALUE,
                "soft_vm_release: %p to %p is not one reservation",
                pointer(range.from), pointer(range.to));
  }
  if (overlapsMapping(range)) {
    return fail(SOFT_INVALID_VALUE,
                "soft_vm_release: memory is still mapped between %p and %p; "
                "call soft_vm_unmap first",
                pointer(range.from), pointer(range.to));
  }
  reservations_.erase(found);
  free_.give(range.from, range.to - range.from);
  return SOFT_OK;
}

soft_status VirtualMemory::create(std::size_t bytes,
                                  soft_vm_memory* out_memory) {
  if (bytes == 0 || bytes % kPart != 0) {
    return fail(SOFT_INVALID_VALUE,
                "soft_vm_create: %zu bytes are not a multiple of %zu", bytes,
                kPart);
  }
  std::shared_ptr<PhysicalMemory> memory;
  if (soft_status status = PhysicalMemory::create(owner_, bytes, &memory)) {
    return status;
  }
  const uint64_t number = next_memory.fetch_add(1, std::memory_order_relaxed);
  *out_memory = number << kDeviceBits | owner_->map().device;
  const std::lock_guard<std::mutex> lock(mutex_);
  memories_[*out_memory] = std::move(memory);
  return SOFT_OK;
}

soft_status VirtualMemory::destroy(soft_vm_memory memory) {
  std::shared_ptr<PhysicalMemory> last;  // goes after the lock
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = memories_.find(memory);
  if (found == memories_.end()) {
    return fail(SOFT_INVALID_HANDLE,
                "soft_vm_destroy: %lu is no memory that exists", memory);
  }
  last = std::move(found->second);
  memories_.erase(found);
  return SOFT_OK;
}

soft_status VirtualMemory::map(Range range, soft_vm_memory memory,
                               std::size_t offset) {
  if (soft_status status = checkRange("soft_vm_map", range)) return status;
  const std::size_t bytes = range.to - range.from;
  const std::lock_guard<std::mutex> change(changes_);
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = memories_.find(memory);
  if (found == memories_.end()) {
    return fail(SOFT_INVALID_HANDLE,
                "soft_vm_map: %lu is no memory of the device of %p", memory,
                pointer(range.from));
  }
  const SharedFile& file = found->second->file();
  if (offset % kPart != 0 || offset > file.bytes() ||
      bytes > file.bytes() - offset) {
    return fail(SOFT_INVALID_VALUE,
                "soft_vm_map: %zu bytes from %zu on are not within memory of "
                "%zu bytes, or no multiple of %zu",
                bytes, offset, file.bytes(), kPart);
  }
  if (!isReserved(range) || overlapsMapping(range)) {
    return fail(SOFT_INVALID_VALUE,
                "soft_vm_map: addresses between %p and %p are not reserved, or "
                "mapped already",
                pointer(range.from), pointer(range.to));
  }
  const auto mapping =
      mappings_.emplace(range.from, Mapping{range.to, found->second}).first;
  void* const start = backing(range.from);
  if (mmap(start, bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, file.fd(),
           static_cast<off_t>(offset)) == MAP_FAILED) {
    mappings_.erase(mapping);
    // The system may have removed what was there before it refused.
    holdAddresses(range, MAP_FIXED_NOREPLACE);
    return fail(SOFT_OUT_OF_MEMORY,
                "soft_vm_map: the system refused to map %zu bytes", bytes);
  }
  adviseBacking(start, bytes);
  return SOFT_OK;
}

soft_status VirtualMemory::unmap(Range range) {
  if (soft_status status = checkRange("soft_vm_unmap", range)) return status;
  const std::lock_guard<std::mutex> change(changes_);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!isMapped(range, /*whole=*/true)) {
      return fail(SOFT_INVALID_VALUE,
                  "soft_vm_unmap: %p to %p are not whole mappings without gaps",
                  pointer(range.from), pointer(range.to));
    }
  }
  forbid(range, ~uint32_t{0});
  drainAllDevices();
  const std::lock_guard<std::mutex> lock(mutex_);
  if (unback(range)) return SOFT_OK;
  return fail(SOFT_OUT_OF_MEMORY,
              "soft_vm_unmap: the system refused to unmap %zu bytes; no device "
              "has access to them any more, unmap them again",
              range.to - range.from);
}

soft_status VirtualMemory::setAccess(Range range, int32_t device,
                                     bool allowed) {
  if (soft_status status = checkRange("soft_vm_set_access", range)) {
    return status;
  }
  const std::lock_guard<std::mutex> change(changes_);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!isMapped(range, /*whole=*/false)) {
      return fail(SOFT_INVALID_VALUE,
                  "soft_vm_set_access: not all of %p to %p is mapped",
                  pointer(range.from), pointer(range.to));
    }
  }
  const uint32_t bit = uint32_t{1} << device;
  if (!allowed) {
    forbid(range, bit);
    drainAllDevices();
  } else if (mprotect(backing(range.from), range.to - range.from,
                      PROT_READ | PROT_WRITE) != 0) {
    return fail(SOFT_OUT_OF_MEMORY,
                "soft_vm_set_access: the system refused access to %zu bytes",
                range.to - range.from);
  }
  for (uintptr_t part = range.from; part < range.to; part += kPart) {
    if (allowed) {
      accessOf(part).fetch_or(bit, std::memory_order_release);
    } else if (accessOf(part).load(std::memory_order_relaxed) == 0) {
      mprotect(backing(part), kPart, PROT_NONE);
    }
  }
  return SOFT_OK;
}

void VirtualMemory::forbid(Range range, uint32_t devices) {
  for (uintptr_t part = range.from; part < range.to; part += kPart) {
    accessOf(part).fetch_and(~devices, std::memory_order_relaxed);
  }
}

// Keeps the addresses of the backing from everybody else. `fixed`, MAP_FIXED or
// MAP_FIXED_NOREPLACE, says whether what is mapped there goes.
bool VirtualMemory::holdAddresses(Range range, int fixed) const {
  void* const start = backing(range.from);
  return mmap(start, range.to - range.from, PROT_NONE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed, -1,
              0) == start;
}

// Ends the mappings in the range. The memory goes with the last of them. False:
// the system refuses, and they remain.
bool VirtualMemory::unback(Range range) {
  if (!holdAddresses(range, MAP_FIXED) &&
      !holdAddresses(range, MAP_FIXED_NOREPLACE)) {
    return false;
  }
  mappings_.erase(mappings_.lower_bound(range.from),
                  mappings_.lower_bound(range.to));
  return true;
}

bool VirtualMemory::hasAccess(uintptr_t at, int32_t device) const {
  return mayUse(device, at, 1);
}

bool VirtualMemory::find(uintptr_t at, Range* out_range) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  auto mapping = mappings_.upper_bound(at);
  if (mapping == mappings_.begin()) return false;
  --mapping;
  if (at >= mapping->second.to) return false;
  *out_range = {mapping->first, mapping->second.to};
  return true;
}

void VirtualMemory::reset() {
  const std::lock_guard<std::mutex> change(changes_);
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [from, to] : reservations_) {
    forbid({from, to}, ~uint32_t{0});
    if (unback({from, to})) free_.give(from, to - from);
  }
  reservations_.clear();
  memories_.clear();
}

}  // namespace dipu::softdevice
