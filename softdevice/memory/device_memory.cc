// SPDX-License-Identifier: Apache-2.0
#include "softdevice/memory/device_memory.h"

#include <sys/mman.h>

#include <algorithm>

#include "softdevice/base/config.h"
#include "softdevice/base/machine.h"
#include "softdevice/base/status.h"

namespace dipu::softdevice {
namespace {

// Blocks from this size on are compared with what the machine has left, so
// that a request it cannot back is an error and not a killed process.
constexpr std::size_t kLargeBlock = std::size_t{16} << 20;

#ifdef SOFT_DIRECT_ADDRESSES
constexpr bool kIsolated = false;  // see softdevice.h
#else
constexpr bool kIsolated = true;
#endif

// The smallest power of two that is not less than `value`.
std::size_t powerOfTwo(std::size_t value) {
  std::size_t power = 1;
  while (power < value) power *= 2;
  return power;
}

}  // namespace

DeviceMemory::DeviceMemory(int32_t device, std::size_t capacity)
    : capacity_(capacity), map_{0, 0, 0, device} {
  reserve();
  if (!valid()) return;
  parts_ = std::make_unique<std::atomic<int32_t>[]>(heap_bytes_ >> kPartShift);
  free_ = AddressSpace({0, heap_bytes_});
  virtual_ = std::make_unique<VirtualMemory>(
      this, Range{map_.base + heap_bytes_, map_.base + map_.bytes},
      map_.offset);
}

DeviceMemory::~DeviceMemory() {
  if (mapping_ != nullptr) munmap(mapping_, mapping_bytes_);
}

void DeviceMemory::reserve() {
  // Twice the capacity, so that gaps between blocks rarely matter; and
  // addresses are cheap.
  const std::size_t heap = roundUp(2 * capacity_, kPart) + 32 * kPart;
  const std::size_t range = heap + roundUp(8 * capacity_, kPart);
  const std::size_t gap = kPart * (static_cast<std::size_t>(map_.device) + 1);
  const std::size_t distance = kIsolated ? range + gap : 0;
  const std::size_t bytes = range + distance + kPart;
  void* start = mmap(nullptr, bytes, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) return;
  mapping_ = start;
  mapping_bytes_ = bytes;
  const uintptr_t base = roundUp(reinterpret_cast<uintptr_t>(start), kPart);
  void* backing = reinterpret_cast<void*>(base + distance);
  if (mprotect(backing, heap, PROT_READ | PROT_WRITE) != 0) return;
  adviseBacking(backing, heap);
  heap_bytes_ = heap;
  map_.base = base;
  map_.bytes = range;
  map_.offset = static_cast<intptr_t>(distance);
}

soft_status DeviceMemory::checkRoom(const char* function,
                                    std::size_t bytes) const {
  if (bytes > capacity_ - used_ ||
      roundUp(bytes, kMemoryGranule) > capacity_ - used_) {
    return fail(SOFT_OUT_OF_MEMORY,
                "%s: %zu bytes asked for on device %d, of whose %zu bytes %zu "
                "are free; free some or raise SOFTDEVICE_MEMORY",
                function, bytes, map_.device, capacity_, capacity_ - used_);
  }
  if (bytes >= kLargeBlock && bytes > availableMemory()) {
    return fail(SOFT_OUT_OF_MEMORY,
                "%s: %zu bytes asked for on device %d, but this machine has "
                "only %zu bytes of memory available",
                function, bytes, map_.device, availableMemory());
  }
  return SOFT_OK;
}

soft_status DeviceMemory::charge(const char* function, std::size_t bytes) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (soft_status status = checkRoom(function, bytes)) return status;
  used_ += bytes;
  return SOFT_OK;
}

void DeviceMemory::discharge(std::size_t bytes) {
  std::lock_guard<std::mutex> lock(mutex_);
  used_ -= bytes;
}

soft_status DeviceMemory::allocate(std::size_t bytes, void** out_ptr) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (soft_status status = checkRoom("soft_malloc", bytes)) return status;
  Block block{};
  if (!takeBlock(roundUp(bytes, kMemoryGranule), &block)) {
    return fail(SOFT_OUT_OF_MEMORY,
                "soft_malloc: device %d has no gap of %zu bytes in its "
                "addresses; free blocks lie scattered",
                map_.device, bytes);
  }
  const uintptr_t start = block.occupied.from;
  used_ += block.bytes;
  blocks_[start] = block;
  countParts(block.occupied, 1);
  *out_ptr = reinterpret_cast<void*>(map_.base + start);
  return SOFT_OK;
}

// See Note [Pages of an allocation]. Large blocks start at a huge page.
bool DeviceMemory::takeBlock(std::size_t bytes, Block* out_block) {
  std::size_t alignment = powerOfTwo(bytes);
  std::size_t occupied = bytes;
  if (bytes >= pageBytes()) {
    alignment = bytes >= kPart ? kPart : pageBytes();
    occupied = roundUp(bytes, pageBytes());
  }
  uintptr_t start = 0;
  if (!free_.take(occupied, alignment, &start)) return false;
  *out_block = Block{bytes, {start, start + occupied}};
  return true;
}

bool DeviceMemory::release(void* ptr) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = blocks_.find(offsetOf(ptr));
  if (found == blocks_.end() || found->second.opens != 0) return false;
  const Block block = found->second;
  blocks_.erase(found);
  dropBlock(block);
  return true;
}

void DeviceMemory::releaseAll() {
  virtual_->reset();
  std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [start, block] : blocks_) dropBlock(block);
  blocks_.clear();
}

// Gives back the addresses, and to the machine those of the pages that no
// other block shares.
void DeviceMemory::dropBlock(const Block& block) {
  const bool opened = block.opens != 0;
  if (!opened) used_ -= block.bytes;
  countParts(block.occupied, -1);
  const auto [from, to] = block.occupied;
  const auto joined = free_.give(from, to - from);
  const Range pages{
      std::max(roundUp(joined.from, pageBytes()), roundDown(from, pageBytes())),
      std::min(roundDown(joined.to, pageBytes()), roundUp(to, pageBytes()))};
  if (pages.from < pages.to) dropPages(pages, opened);
}

void DeviceMemory::dropPages(const Range& pages, bool opened) {
  const auto first = shared_.lower_bound(pages.from);
  const auto last = shared_.lower_bound(pages.to);
  if (first == last && !opened) {
    madvise(backing(pages.from), pages.to - pages.from, MADV_DONTNEED);
    return;
  }
  shared_.erase(first, last);
  mapPrivate(pages);
}

void DeviceMemory::countParts(const Range& range, int32_t difference) {
  for (uintptr_t part = range.from >> kPartShift;
       part <= (range.to - 1) >> kPartShift; ++part) {
    parts_[part].fetch_add(difference, std::memory_order_relaxed);
  }
}

std::size_t DeviceMemory::used() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return used_;
}

DeviceMemory::Blocks::const_iterator DeviceMemory::blockOf(
    const void* ptr) const {
  const uintptr_t at = offsetOf(ptr);
  auto block = blocks_.upper_bound(at);
  if (at >= map_.bytes || block == blocks_.begin()) return blocks_.end();
  --block;
  return at < block->first + block->second.bytes ? block : blocks_.end();
}

bool DeviceMemory::find(const void* ptr, uintptr_t* out_start,
                        std::size_t* out_bytes) const {
  const auto at = reinterpret_cast<uintptr_t>(ptr);
  if (virtual_->covers(at)) {
    Range mapping;
    if (!virtual_->find(at, &mapping)) return false;
    *out_start = mapping.from;
    *out_bytes = mapping.to - mapping.from;
    return true;
  }
  std::lock_guard<std::mutex> lock(mutex_);
  const auto block = blockOf(ptr);
  if (block == blocks_.end()) return false;
  *out_start = map_.base + block->first;
  *out_bytes = block->second.bytes;
  return true;
}

void* DeviceMemory::backingOf(const void* ptr, std::size_t bytes) const {
  const auto at = reinterpret_cast<uintptr_t>(ptr);
  if (virtual_->covers(at)) {
    return virtual_->isAccessible(at, bytes) ? backing(offsetOf(ptr)) : nullptr;
  }
  uintptr_t start = 0;
  std::size_t length = 0;
  if (!find(ptr, &start, &length)) return nullptr;
  return bytes <= start + length - at ? backing(offsetOf(ptr)) : nullptr;
}

void* DeviceMemory::translateVirtual(int32_t device, const void* ptr,
                                     std::size_t bytes) const {
  const auto at = reinterpret_cast<uintptr_t>(ptr);
  return virtual_->mayUse(device, at, bytes) ? backing(offsetOf(ptr)) : nullptr;
}

}  // namespace dipu::softdevice
