// SPDX-License-Identifier: Apache-2.0
#include "diopi_adapter/runtime/slot.h"

#include <algorithm>
#include <string>

#include "diopi_adapter/fallback/accounting.h"
#include "diopi_adapter/fallback/cpu_fallback.h"
#include "diopi_adapter/runtime/call.h"

namespace dipu::adapter {
namespace {

std::vector<SlotBase*>& registered() {
  // Not destroyed: operators run until the process ends.
  static auto* const all = new std::vector<SlotBase*>;
  return *all;
}

std::atomic<Hook> g_hook{nullptr};

// The slot whose next call by this thread has a pass, and which.
thread_local SlotBase* t_passing = nullptr;
thread_local SlotBase::Pass t_pass = SlotBase::Pass::kNone;

// Gives the pass, and takes it back when no call took it.
class PassScope {
 public:
  PassScope(SlotBase* slot, SlotBase::Pass pass) {
    t_passing = slot;
    t_pass = pass;
  }
  ~PassScope() { t_passing = nullptr; }
  PassScope(const PassScope&) = delete;
  PassScope& operator=(const PassScope&) = delete;
};

bool nameLess(const SlotBase* slot, std::string_view name) {
  return slot->name() < name;
}

}  // namespace

const std::vector<SlotBase*>& slots() { return registered(); }

SlotBase* findSlot(std::string_view name) {
  const auto& all = registered();
  const auto it = std::lower_bound(all.begin(), all.end(), name, nameLess);
  return it != all.end() && (*it)->name() == name ? *it : nullptr;
}

void setHook(Hook hook) noexcept {
  g_hook.store(hook, std::memory_order_release);
}

void callWrapper(SlotBase& slot, torch::jit::Stack* stack) {
  const PassScope scope(&slot, SlotBase::Pass::kWrapper);
  slot.handle().redispatchBoxed(
      c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), stack);
}

namespace {

// Runs the slot's own CPU function with `reason` for its count, which holds for
// this call only: another fallback has its own policy.
void callCpuFunction(SlotBase& slot, torch::jit::Stack* stack,
                     const char* reason) {
  struct Reason {
    explicit Reason(const char* reason) { noteRefusal(reason); }
    ~Reason() { noteRefusal(""); }
  } const noted(reason);
  const PassScope scope(&slot, SlotBase::Pass::kCpu);
  slot.handle().redispatchBoxed(
      c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), stack);
}

}  // namespace

void callOnCpu(SlotBase& slot, torch::jit::Stack* stack) {
  if (slot.hasCpuFunction()) {
    callCpuFunction(slot, stack, fallback::kForced);
  } else {
    fallback::cpuFallback(slot.handle(), stack, fallback::kForced);
  }
}

void computeOnCpu(SlotBase& slot, torch::jit::Stack* stack) {
  if (slot.hasCpuFunction()) {
    callCpuFunction(slot, stack, "");
  } else {
    slot.handle().redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU),
                                  stack);
  }
}

namespace detail {

void callHook(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  SlotBase* const slot =
      findSlot(fallback::operatorLabel(op.schema().operator_name()));
  TORCH_INTERNAL_ASSERT(slot != nullptr);
  g_hook.load(std::memory_order_acquire)(*slot, stack);
}

void addSlot(SlotBase& slot) {
  auto& all = registered();
  const std::string_view name = slot.name();
  const auto it = std::lower_bound(all.begin(), all.end(), name, nameLess);
  if (it == all.end() || (*it)->name() != name) all.insert(it, &slot);
}

void fallBackRefused(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  fallback::cpuFallback(op, stack, refusalReason());
}

}  // namespace detail

const c10::OperatorHandle& SlotBase::handle() {
  const auto* known = handle_.load(std::memory_order_acquire);
  if (known != nullptr) return *known;
  const std::string_view full = name_;
  const size_t dot = full.find('.');
  const std::string name = "aten::" + std::string(full.substr(0, dot));
  const std::string overload(
      dot == std::string_view::npos ? "" : full.substr(dot + 1));
  // Never freed; a race leaves one small object behind.
  const auto* found =
      new c10::OperatorHandle(c10::Dispatcher::singleton().findSchemaOrThrow(
          name.c_str(), overload.c_str()));
  handle_.store(found, std::memory_order_release);
  return *found;
}

SlotBase::Pass SlotBase::takePass() {
  if (t_passing != this) return Pass::kNone;
  t_passing = nullptr;
  return t_pass;
}

void SlotBase::setTools(uint32_t tools) {
  if (tools_.exchange(tools) != tools) {
    exchange(tools == 0 ? wrapper() : hooked_);
  }
}

void SlotBase::addNative() {
  fallback::Counter* counter = native_.load(std::memory_order_acquire);
  if (counter == nullptr) {
    counter = &fallback::counter("native." + std::string(name_));
    native_.store(counter, std::memory_order_release);
  }
  counter->add();
}

}  // namespace dipu::adapter
