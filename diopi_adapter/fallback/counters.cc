// SPDX-License-Identifier: Apache-2.0
#include "diopi_adapter/fallback/counters.h"

#include <c10/util/Exception.h>

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

std::atomic<Policy> g_policy{Policy::kWarn};

std::string explanation(std::string_view label, std::string_view reason) {
  std::string text =
      "torch_dipu: operator " + std::string(label) + " runs on the CPU: ";
  text += reason.empty() ? "the device has no kernel for it" : reason;
  return text;
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

void setPolicy(Policy policy) noexcept {
  g_policy.store(policy, std::memory_order_relaxed);
}

Policy policy() noexcept { return g_policy.load(std::memory_order_relaxed); }

void countFallback(const c10::OperatorName& name, std::string_view reason) {
  countFallback(operatorLabel(name), reason);
}

void countFallback(std::string_view label, std::string_view reason) {
  if (reason == kCompared) return;
  const Policy chosen = reason == kForced ? Policy::kSilent : policy();
  TORCH_CHECK_NOT_IMPLEMENTED(
      chosen != Policy::kError, explanation(label, reason),
      ". Falling back is forbidden (DIPU_FALLBACK=error); set "
      "DIPU_FALLBACK=warn or silent to allow it.");
  const bool first = counter("fallback." + std::string(label)).add() == 0;
  if (first && chosen == Policy::kWarn) {
    TORCH_WARN(explanation(label, reason),
               " (shown once; DIPU_FALLBACK=silent hides it, "
               "torch_dipu.op_counters() counts it)");
  }
}

namespace detail {

void addNative(std::string_view label) {
  counter("native." + std::string(label)).add();
}

}  // namespace detail
}  // namespace dipu::fallback
