// SPDX-License-Identifier: Apache-2.0
#include "core/allocator/size_policy.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <string>
#include <utility>

namespace dipu::allocator {
namespace {

using Config = c10::CachingAllocator::AcceleratorAllocatorConfig;

void reloadSettings() {
  const auto& divisions = Config::roundup_power2_divisions();
  const bool any = std::any_of(divisions.begin(), divisions.end(),
                               [](std::size_t n) { return n > 1; });
  detail::g_divisions.store(any);
}

// Torch calls one hook when settings change at run time; one that is there
// already, such as that of another accelerator, stays in place.
bool followSettings() {
  std::function<void(const std::string&)> previous =
      std::move(Config::getConfigParserHook());
  Config::registerDeviceConfigParserHook(
      [previous = std::move(previous)](const std::string& settings) {
        if (previous) previous(settings);
        reloadSettings();
      },
      {});
  reloadSettings();
  return true;
}

const bool g_following [[maybe_unused]] = followSettings();

std::size_t roundUp(std::size_t value, std::size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

namespace detail {

std::atomic<bool> g_divisions{false};

std::size_t roundByDivisions(std::size_t bytes) {
  const std::size_t size = roundUp(bytes, kMinBlockSize);
  const std::size_t divisions = Config::roundup_power2_divisions(size);
  if (divisions <= 1) return size;
  const std::size_t step = std::bit_floor(size) / divisions;
  return step <= kMinBlockSize ? size : roundUp(size, step);
}

}  // namespace detail

std::size_t segmentSize(std::size_t size) {
  if (isSmall(size)) return c10::CachingAllocator::kSmallBuffer;
  const std::size_t large = Config::large_segment_size();
  if (size < c10::CachingAllocator::kMinLargeAlloc && size <= large) {
    return large;
  }
  return roundUp(size, c10::CachingAllocator::kRoundLarge);
}

bool mayServe(std::size_t block_size, std::size_t size) {
  if (!isOversize(block_size)) return true;
  return isOversize(size) &&
         block_size < size + Config::max_non_split_rounding_size();
}

bool shouldSplit(std::size_t remaining, std::size_t size) {
  if (isSmall(size)) return remaining >= kMinBlockSize;
  return !isOversize(size) && remaining > kSmallSize;
}

}  // namespace dipu::allocator
