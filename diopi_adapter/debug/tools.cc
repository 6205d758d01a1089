// SPDX-License-Identifier: Apache-2.0
#include "diopi_adapter/debug/tools.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>

#include "diopi_adapter/runtime/registration.h"

namespace dipu::debug {
namespace {

constexpr std::string_view kCopies[] = {"_copy_from", "_copy_from_and_resize",
                                        "_local_scalar_dense", "copy_"};

std::atomic<Observer> g_observer{nullptr};

bool isCopy(const adapter::SlotBase& slot) {
  return std::ranges::find(kCopies, std::string_view(slot.name())) !=
         std::end(kCopies);
}

// The slot `name`, if `tool` may be given to it; else null.
adapter::SlotBase* slotFor(Tool tool, const std::string& name) {
  adapter::SlotBase* slot = adapter::findSlot(name);
  const bool fits = slot != nullptr && (tool == kObserve || !isCopy(*slot));
  return fits ? slot : nullptr;
}

void hook(adapter::SlotBase& slot, torch::jit::Stack* stack) {
  if ((slot.tools() & kObserve) != 0) {
    g_observer.load(std::memory_order_acquire)(slot, stack);
  } else {
    proceed(slot, stack);
  }
}

// Guards the sets of tools against changes by several threads.
std::mutex& mutex() {
  static auto* const instance = new std::mutex;
  return *instance;
}

}  // namespace

void setObserver(Observer observer) noexcept {
  g_observer.store(observer, std::memory_order_release);
}

void proceed(adapter::SlotBase& slot, torch::jit::Stack* stack) {
  if ((slot.tools() & kForceFallback) != 0) {
    adapter::callOnCpu(slot, stack);
  } else {
    adapter::callWrapper(slot, stack);
  }
}

std::vector<Operator> operators() {
  std::map<std::string_view, const adapter::OperatorInfo*> generated;
  for (const adapter::OperatorInfo& info : adapter::operatorInfos()) {
    generated.emplace(info.name, &info);
  }
  std::multimap<std::string_view, const char*> composites;
  for (const adapter::OperatorAlias& alias : adapter::operatorAliases()) {
    composites.emplace(alias.op, alias.name);
  }
  std::vector<Operator> all;
  for (const adapter::SlotBase* slot : adapter::slots()) {
    if (isCopy(*slot)) continue;
    Operator op{slot->name(), slot->name(), "", {}};
    if (const auto info = generated.find(op.name); info != generated.end()) {
      op.family = info->second->family;
      op.function = info->second->function;
    }
    const auto [first, last] = composites.equal_range(op.name);
    for (auto it = first; it != last; ++it) op.composites.push_back(it->second);
    all.push_back(std::move(op));
  }
  return all;
}

std::vector<std::string> copyOperators() {
  std::vector<std::string> all;
  for (const adapter::SlotBase* slot : adapter::slots()) {
    if (isCopy(*slot)) all.emplace_back(slot->name());
  }
  return all;
}

void chooseOperators(Tool tool, const std::vector<std::string>& names) {
  std::vector<const adapter::SlotBase*> chosen;
  for (const std::string& name : names) {
    chosen.push_back(slotFor(tool, name));
    TORCH_CHECK(chosen.back() != nullptr, name,
                " is no operator that debug tools can see");
  }
  std::ranges::sort(chosen);
  const std::lock_guard<std::mutex> lock(mutex());
  adapter::setHook(&hook);
  for (adapter::SlotBase* slot : adapter::slots()) {
    const bool on = std::ranges::binary_search(chosen, slot);
    const uint32_t others = slot->tools() & ~uint32_t{tool};
    slot->setTools(on ? others | tool : others);
  }
}

}  // namespace dipu::debug
