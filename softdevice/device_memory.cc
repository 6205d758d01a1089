// SPDX-License-Identifier: Apache-2.0
#include "softdevice/device_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "softdevice/config.h"
#include "softdevice/machine.h"
#include "softdevice/status.h"

namespace dipu::softdevice {
namespace {

// Blocks from this size on are compared with what the machine has left, so
// that a request it cannot back is an error and not a killed process.
constexpr std::size_t kLargeBlock = std::size_t{16} << 20;

std::size_t roundUp(std::size_t value, std::size_t to) {
  return (value + to - 1) / to * to;
}

}  // namespace

DeviceMemory::DeviceMemory(int32_t device, std::size_t capacity)
    : capacity_(capacity), map_{0, 0, 0, device} {
  reserve();
  if (!valid()) return;
  parts_ = std::make_unique<std::atomic<int32_t>[]>(map_.bytes >> kPartShift);
  free_[0] = map_.bytes;
}

DeviceMemory::~DeviceMemory() {
  if (mapping_ != nullptr) munmap(mapping_, mapping_bytes_);
}

void DeviceMemory::reserve() {
  // Twice the capacity, so that gaps between blocks rarely matter.
  const std::size_t range = roundUp(2 * capacity_, kPart) + 32 * kPart;
  const std::size_t gap = kPart * (static_cast<std::size_t>(map_.device) + 1);
  const std::size_t bytes = 2 * range + gap + kPart;
  void* start = mmap(nullptr, bytes, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) return;
  mapping_ = start;
  mapping_bytes_ = bytes;
  const uintptr_t base = roundUp(reinterpret_cast<uintptr_t>(start), kPart);
  void* backing = reinterpret_cast<void*>(base + range + gap);
  if (mprotect(backing, range, PROT_READ | PROT_WRITE) != 0) return;
  // Advice only: a kernel without huge pages refuses the first. A forked
  // child cannot use the device and need not copy its page tables.
  madvise(backing, range, MADV_HUGEPAGE);
  madvise(backing, range, MADV_DONTFORK);
  madvise(backing, range, MADV_DONTDUMP);
  map_.base = base;
  map_.bytes = range;
  map_.offset = static_cast<intptr_t>(range + gap);
}

soft_status DeviceMemory::allocate(std::size_t bytes, void** out_ptr) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (bytes > capacity_ - used_ ||
      roundUp(bytes, kMemoryGranule) > capacity_ - used_) {
    return fail(SOFT_OUT_OF_MEMORY,
                "soft_malloc: %zu bytes asked for on device %d, of whose %zu "
                "bytes %zu are free; free some or raise SOFTDEVICE_MEMORY",
                bytes, map_.device, capacity_, capacity_ - used_);
  }
  if (bytes >= kLargeBlock && bytes > availableMemory()) {
    return fail(SOFT_OUT_OF_MEMORY,
                "soft_malloc: %zu bytes asked for on device %d, but this "
                "machine has only %zu bytes of memory available",
                bytes, map_.device, availableMemory());
  }
  const std::size_t size = roundUp(bytes, kMemoryGranule);
  uintptr_t start = 0;
  if (!takeBlock(size, &start)) {
    return fail(SOFT_OUT_OF_MEMORY,
                "soft_malloc: device %d has no gap of %zu bytes in its "
                "addresses; free blocks lie scattered",
                map_.device, bytes);
  }
  used_blocks_[start] = size;
  used_ += size;
  countParts(start, size, 1);
  *out_ptr = reinterpret_cast<void*>(map_.base + start);
  return SOFT_OK;
}

// First fit. Large blocks start at a huge page.
bool DeviceMemory::takeBlock(std::size_t bytes, uintptr_t* out_start) {
  const std::size_t alignment = bytes >= kPart ? kPart : kMemoryGranule;
  for (auto block = free_.begin(); block != free_.end(); ++block) {
    const uintptr_t from = block->first;
    const uintptr_t to = from + block->second;
    const uintptr_t start = roundUp(from, alignment);
    if (start > to || bytes > to - start) continue;
    free_.erase(block);
    if (start > from) free_[from] = start - from;
    if (start + bytes < to) free_[start + bytes] = to - start - bytes;
    *out_start = start;
    return true;
  }
  return false;
}

bool DeviceMemory::release(void* ptr) {
  const uintptr_t start = reinterpret_cast<uintptr_t>(ptr) - map_.base;
  std::lock_guard<std::mutex> lock(mutex_);
  auto block = used_blocks_.find(start);
  if (block == used_blocks_.end()) return false;
  const std::size_t bytes = block->second;
  used_blocks_.erase(block);
  used_ -= bytes;
  countParts(start, bytes, -1);
  addFree(start, bytes);
  return true;
}

void DeviceMemory::releaseAll() {
  std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [start, bytes] : used_blocks_) {
    countParts(start, bytes, -1);
    addFree(start, bytes);
  }
  used_blocks_.clear();
  used_ = 0;
}

// Joins the block with free neighbours and returns to the machine those of its
// pages that no other block shares.
void DeviceMemory::addFree(uintptr_t start, std::size_t bytes) {
  static const std::size_t page = sysconf(_SC_PAGESIZE);
  uintptr_t from = start;
  uintptr_t to = start + bytes;
  auto next = free_.lower_bound(start);
  if (next != free_.end() && next->first == to) {
    to += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    auto previous = std::prev(next);
    if (previous->first + previous->second == from) {
      from = previous->first;
      free_.erase(previous);
    }
  }
  free_[from] = to - from;
  const uintptr_t first = std::max(roundUp(from, page), start / page * page);
  const uintptr_t last =
      std::min(to / page * page, roundUp(start + bytes, page));
  if (first < last) {
    madvise(reinterpret_cast<void*>(map_.base + map_.offset + first),
            last - first, MADV_DONTNEED);
  }
}

void DeviceMemory::countParts(uintptr_t start, std::size_t bytes,
                              int32_t difference) {
  for (uintptr_t part = start >> kPartShift;
       part <= (start + bytes - 1) >> kPartShift; ++part) {
    parts_[part].fetch_add(difference, std::memory_order_relaxed);
  }
}

std::size_t DeviceMemory::used() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return used_;
}

// The mutex is held by the caller.
DeviceMemory::Blocks::const_iterator DeviceMemory::blockOf(
    const void* ptr) const {
  const uintptr_t at = reinterpret_cast<uintptr_t>(ptr) - map_.base;
  auto block = used_blocks_.upper_bound(at);
  if (at >= map_.bytes || block == used_blocks_.begin()) {
    return used_blocks_.end();
  }
  --block;
  return at < block->first + block->second ? block : used_blocks_.end();
}

bool DeviceMemory::find(const void* ptr, uintptr_t* out_start,
                        std::size_t* out_bytes) const {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto block = blockOf(ptr);
  if (block == used_blocks_.end()) return false;
  *out_start = map_.base + block->first;
  *out_bytes = block->second;
  return true;
}

bool DeviceMemory::holds(const void* ptr, std::size_t bytes) const {
  uintptr_t start = 0;
  std::size_t length = 0;
  if (!find(ptr, &start, &length)) return false;
  return bytes <= start + length - reinterpret_cast<uintptr_t>(ptr);
}

}  // namespace dipu::softdevice
