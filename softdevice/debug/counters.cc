// SPDX-License-Identifier: Apache-2.0
#include "softdevice/debug/counters.h"

#include <algorithm>
#include <cstdio>

#include "softdevice/debug/observe.h"

namespace dipu::softdevice {

Counters& counters() {
  // Never destroyed: workers may still run while the process exits.
  static Counters* const only = new Counters;
  return *only;
}

void Counters::add(const char* name, soft_task task, uint64_t nanoseconds) {
  const void* key = name != nullptr ? static_cast<const void*>(name)
                                    : reinterpret_cast<const void*>(task);
  std::lock_guard<std::mutex> lock(mutex_);
  Sum*& sum = known_[key];
  if (sum == nullptr) sum = &sums_[kernelName(name, task)];
  ++sum->launches;
  sum->total += nanoseconds;
  sum->least = std::min(sum->least, nanoseconds);
  sum->most = std::max(sum->most, nanoseconds);
}

void Counters::reset() {
  std::lock_guard<std::mutex> lock(mutex_);
  known_.clear();
  sums_.clear();
}

void Counters::read(soft_counter* out, std::size_t capacity,
                    std::size_t* out_count) const {
  std::lock_guard<std::mutex> lock(mutex_);
  std::size_t index = 0;
  for (const auto& [name, sum] : sums_) {
    if (index == capacity) break;
    soft_counter& counter = out[index++];
    counter = soft_counter{{}, sum.launches, sum.total, sum.least, sum.most};
    std::snprintf(counter.name, sizeof(counter.name), "%s", name.c_str());
  }
  *out_count = sums_.size();
}

}  // namespace dipu::softdevice
