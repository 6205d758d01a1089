// SPDX-License-Identifier: Apache-2.0
//
// Which host memory is pinned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace dipu::softdevice {

// Who gave the memory: it decides who may take it back.
enum class PinnedOrigin { kAllocated, kRegistered };

// Pinned ranges of the process; they never overlap. Thread-safe.
class PinnedRegistry {
 public:
  // False when a part of the range is pinned already.
  bool add(void* ptr, std::size_t bytes, PinnedOrigin origin);
  // Whether a range of that origin starts at `ptr`.
  bool startsAt(void* ptr, PinnedOrigin origin) const;
  // Removes that range; false when there is none.
  bool remove(void* ptr, PinnedOrigin origin);
  // Start and length of the range that holds `ptr`.
  bool find(const void* ptr, uintptr_t* out_start,
            std::size_t* out_bytes) const;
  // Whether [ptr, ptr + bytes) lies in one range.
  bool holds(const void* ptr, std::size_t bytes) const;

 private:
  struct Range {
    std::size_t bytes;
    PinnedOrigin origin;
  };
  mutable std::mutex mutex_;  // guards ranges_; nothing is locked under it
  std::map<uintptr_t, Range> ranges_;
};

PinnedRegistry& pinnedRegistry();

}  // namespace dipu::softdevice
