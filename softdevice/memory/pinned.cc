// SPDX-License-Identifier: Apache-2.0
#include "softdevice/memory/pinned.h"

namespace dipu::softdevice {
namespace {

uintptr_t address(const void* ptr) { return reinterpret_cast<uintptr_t>(ptr); }

}  // namespace

bool PinnedRegistry::add(void* ptr, std::size_t bytes, PinnedOrigin origin) {
  const uintptr_t start = address(ptr);
  std::lock_guard<std::mutex> lock(mutex_);
  auto next = ranges_.lower_bound(start);
  if (next != ranges_.end() && next->first - start < bytes) return false;
  if (next != ranges_.begin()) {
    auto previous = std::prev(next);
    if (start - previous->first < previous->second.bytes) return false;
  }
  ranges_[start] = Range{bytes, origin};
  return true;
}

bool PinnedRegistry::startsAt(void* ptr, PinnedOrigin origin) const {
  std::lock_guard<std::mutex> lock(mutex_);
  auto range = ranges_.find(address(ptr));
  return range != ranges_.end() && range->second.origin == origin;
}

bool PinnedRegistry::remove(void* ptr, PinnedOrigin origin) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto range = ranges_.find(address(ptr));
  if (range == ranges_.end() || range->second.origin != origin) return false;
  ranges_.erase(range);
  return true;
}

bool PinnedRegistry::find(const void* ptr, uintptr_t* out_start,
                          std::size_t* out_bytes) const {
  std::lock_guard<std::mutex> lock(mutex_);
  auto range = ranges_.upper_bound(address(ptr));
  if (range == ranges_.begin()) return false;
  --range;
  if (address(ptr) - range->first >= range->second.bytes) return false;
  *out_start = range->first;
  *out_bytes = range->second.bytes;
  return true;
}

bool PinnedRegistry::holds(const void* ptr, std::size_t bytes) const {
  uintptr_t start = 0;
  std::size_t length = 0;
  if (!find(ptr, &start, &length)) return false;
  return bytes <= start + length - address(ptr);
}

PinnedRegistry& pinnedRegistry() {
  // Never destroyed: other libraries free pinned memory while they unload.
  static PinnedRegistry* const registry = new PinnedRegistry;
  return *registry;
}

}  // namespace dipu::softdevice
