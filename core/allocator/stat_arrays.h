// SPDX-License-Identifier: Apache-2.0
//
// Counting in torch's statistics, which keep a total and one value per pool.
#pragma once

#include <c10/core/Allocator.h>

#include <cstddef>

namespace dipu::allocator {

using c10::CachingAllocator::StatArray;
using c10::CachingAllocator::StatType;

inline std::size_t statIndex(bool small) {
  return static_cast<std::size_t>(small ? StatType::SMALL_POOL
                                        : StatType::LARGE_POOL);
}

inline void increase(StatArray& stat, bool small, std::size_t amount) {
  stat[static_cast<std::size_t>(StatType::AGGREGATE)].increase(amount);
  stat[statIndex(small)].increase(amount);
}

inline void decrease(StatArray& stat, bool small, std::size_t amount) {
  stat[static_cast<std::size_t>(StatType::AGGREGATE)].decrease(amount);
  stat[statIndex(small)].decrease(amount);
}

// Calls `apply` for every counter of `stats` that has a current value.
template <typename Stats, typename Apply>
void forEachStat(Stats& stats, Apply apply) {
  for (StatArray* array :
       {&stats.allocation, &stats.segment, &stats.active, &stats.inactive_split,
        &stats.allocated_bytes, &stats.reserved_bytes, &stats.active_bytes,
        &stats.inactive_split_bytes, &stats.requested_bytes}) {
    for (c10::CachingAllocator::Stat& stat : *array) apply(stat);
  }
  apply(stats.oversize_allocations);
  apply(stats.oversize_segments);
}

}  // namespace dipu::allocator
