// SPDX-License-Identifier: Apache-2.0
#include "diopi_adapter/fallback/counters.h"

#include <memory>
#include <mutex>

namespace dipu::fallback {
namespace {

constexpr std::string_view kAtenPrefix = "aten::";

struct Registry {
  std::mutex mutex;  // guards the map; counters are atomic themselves
  std::map<std::string, std::unique_ptr<Counter>, std::less<>> counters;
};

// Never destroyed: threads may still count while the process ends.
Registry& registry() {
  static auto* instance = new Registry;
  return *instance;
}

}  // namespace

Counter& counter(std::string_view name) {
  Registry& all = registry();
  const std::lock_guard<std::mutex> lock(all.mutex);
  auto found = all.counters.find(name);
  if (found == all.counters.end()) {
    found = all.counters.emplace(std::string(name), std::make_unique<Counter>())
                .first;
  }
  return *found->second;
}

std::map<std::string, uint64_t> snapshotCounters() {
  Registry& all = registry();
  const std::lock_guard<std::mutex> lock(all.mutex);
  std::map<std::string, uint64_t> values;
  for (const auto& [name, count] : all.counters) {
    if (const uint64_t value = count->value(); value != 0) {
      values.emplace(name, value);
    }
  }
  return values;
}

void setCountingNative(bool on) noexcept {
  detail::g_counting_native.store(on, std::memory_order_relaxed);
}

std::string operatorLabel(const c10::OperatorName& name) {
  std::string label = name.name.starts_with(kAtenPrefix)
                          ? name.name.substr(kAtenPrefix.size())
                          : name.name;
  if (!name.overload_name.empty()) label += "." + name.overload_name;
  return label;
}

namespace detail {

void addNative(std::string_view label) {
  counter("native." + std::string(label)).add();
}

}  // namespace detail
}  // namespace dipu::fallback
