// SPDX-License-Identifier: Apache-2.0
//
// Sizes: how requests are rounded, which pool serves them, how large a segment
// is, and when a block is split. Follows PYTORCH_ALLOC_CONF.
#pragma once

#include <c10/core/AllocatorConfig.h>

#include <atomic>
#include <cstddef>

namespace dipu::allocator {

using c10::CachingAllocator::kMinBlockSize;
using c10::CachingAllocator::kSmallSize;

// Requests above this are refused before any arithmetic can overflow.
inline constexpr std::size_t kMaxRequest = std::size_t{1} << 60;

namespace detail {
// Whether roundup_power2_divisions asks for more than multiples of
// kMinBlockSize. Kept up to date with torch's settings.
extern std::atomic<bool> g_divisions;

std::size_t roundByDivisions(std::size_t bytes);
}  // namespace detail

// Size of the block that serves `bytes`, which is at most kMaxRequest.
inline std::size_t roundSize(std::size_t bytes) {
  if (__builtin_expect(detail::g_divisions.load(std::memory_order_relaxed),
                       0)) {
    return detail::roundByDivisions(bytes);
  }
  return (bytes + kMinBlockSize - 1) & ~(kMinBlockSize - 1);
}

// Whether blocks of `size` come from the small pool.
inline bool isSmall(std::size_t size) { return size <= kSmallSize; }

// The limit on splitting; SIZE_MAX when there is none.
inline std::size_t maxSplitSize() {
  return c10::CachingAllocator::AcceleratorAllocatorConfig::max_split_size();
}

// Whether a block is so large that it is never split.
inline bool isOversize(std::size_t size) { return size >= maxSplitSize(); }

// Bytes to ask the vendor for when no free block serves `size`.
std::size_t segmentSize(std::size_t size);

// Whether a free block of `block_size` may serve `size`: with a limit on
// splitting, blocks above it serve only requests of about their size.
bool mayServe(std::size_t block_size, std::size_t size);

// Whether to split `remaining` bytes off a block that serves `size`.
bool shouldSplit(std::size_t remaining, std::size_t size);

}  // namespace dipu::allocator
