// SPDX-License-Identifier: Apache-2.0
//
// Function slots: what stands between the dispatcher and a wrapper.
//
// Note [Function slots]
// The dispatcher does not call a wrapper. It calls a trampoline, which loads
// the operator's slot and calls what it finds: the wrapper, or whatever a debug
// tool has put there. So a tool that is off costs one relaxed load, and one
// that is switched on while other threads run is seen by their next call. A
// replaced function must stay callable for ever, because a thread may have
// loaded it just before.
// Debug tools are few and operators many, so tools do not replace functions
// one by one: setTools() makes the operator's calls go, boxed, to one hook
// (setHook), which reads the slot's tools and computes the call by
// callWrapper() or in its own way.
// With DIPU_DIRECT_WRAPPERS defined, wrappers are registered without slots: the
// control of the measurement that "off" costs nothing.
#pragma once

#include <ATen/core/boxing/BoxedKernel.h>
#include <ATen/core/boxing/impl/boxing.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "diopi_adapter/fallback/counters.h"

namespace dipu::adapter {

// What all slots share. Slots are constant-initialised static objects and live
// for ever.
class SlotBase {
 public:
  using AnyFunction = void (*)();
  // How a call that a hook has sent on is computed.
  enum class Pass { kNone, kWrapper, kCpu };

  // `name`: of the operator with its overload, "add.Tensor".
  constexpr explicit SlotBase(const char* name) : name_(name) {}

  const char* name() const { return name_; }

  // The generated wrapper, whatever is installed.
  virtual AnyFunction wrapper() const = 0;
  // What the dispatcher reaches. Any thread, at any time.
  virtual AnyFunction current() const = 0;
  // Installs `function`, which must have the type of the wrapper and never be
  // unloaded. Returns the one before. Any thread, at any time.
  virtual AnyFunction exchange(AnyFunction function) = 0;
  // Whether it brings its own way of computing on the CPU, which has no kernel
  // for the operator.
  virtual bool hasCpuFunction() const = 0;

  // The tools that see the calls of this operator: bits that mean something to
  // the hook; 0 at the start. Any thread, at any time.
  uint32_t tools() const { return tools_.load(std::memory_order_acquire); }
  void setTools(uint32_t tools);

  // Adds one to native.<name> while native calls are counted.
  void countNative() {
    if (__builtin_expect(fallback::countingNative(), 0)) addNative();
  }

  // The operator's entry in the dispatcher. Takes a lock the first time.
  const c10::OperatorHandle& handle();

 protected:
  ~SlotBase() = default;

  // The pass that this call has by callWrapper() or callOnCpu(); takes it.
  Pass takePass();

 private:
  friend void callWrapper(SlotBase& slot, torch::jit::Stack* stack);
  friend void callOnCpu(SlotBase& slot, torch::jit::Stack* stack);
  template <auto& kSlot>
  friend void bind(torch::Library& library);

  void addNative();

  const char* const name_;
  AnyFunction hooked_ = nullptr;  // sends calls to the hook; set by bind()
  std::atomic<uint32_t> tools_{0};
  std::atomic<fallback::Counter*> native_{nullptr};
  std::atomic<const c10::OperatorHandle*> handle_{nullptr};
};

// All slots of operators that are registered for the device, sorted by name.
// Complete once registration is; then any thread.
const std::vector<SlotBase*>& slots();

// The slot called `name`, or null when the operator is not registered.
SlotBase* findSlot(std::string_view name);

// Sees the boxed calls of the operators that have tools, on the thread that
// calls. Replaces the arguments on `stack` by the results.
using Hook = void (*)(SlotBase& slot, torch::jit::Stack* stack);
// To be called before the first setTools() that is not 0.
void setHook(Hook hook) noexcept;

// For hooks: runs the operator's wrapper on the arguments on `stack`.
void callWrapper(SlotBase& slot, torch::jit::Stack* stack);
// For hooks: computes the call on the CPU. Counted as a fallback, though no
// policy forbids it.
void callOnCpu(SlotBase& slot, torch::jit::Stack* stack);
// For debug tools: what the operator gives for arguments that are on the CPU
// already. Nothing is counted, and the device is not touched.
void computeOnCpu(SlotBase& slot, torch::jit::Stack* stack);

namespace detail {
void addSlot(SlotBase& slot);
// Finds the slot of `op` and calls the hook.
void callHook(const c10::OperatorHandle& op, torch::jit::Stack* stack);
// The CPU fallback, with the reason that the wrapper noted (call.h).
void fallBackRefused(const c10::OperatorHandle& op, torch::jit::Stack* stack);
}  // namespace detail

template <typename Function>
class Slot;

template <typename Result, typename... Args>
class Slot<Result(Args...)> final : public SlotBase {
 public:
  using Function = Result (*)(Args...);

  // `on_cpu` takes and returns tensors of the device and computes on the CPU,
  // which it counts with the reason that is noted (call.h); for operators that
  // the CPU has no kernel for.
  constexpr Slot(const char* name, Function wrapper, Function on_cpu = nullptr)
      : SlotBase(name), wrapper_(wrapper), on_cpu_(on_cpu), current_(wrapper) {}

  AnyFunction wrapper() const override {
    return reinterpret_cast<AnyFunction>(wrapper_);
  }
  AnyFunction current() const override {
    return reinterpret_cast<AnyFunction>(
        current_.load(std::memory_order_relaxed));
  }
  AnyFunction exchange(AnyFunction function) override {
    return reinterpret_cast<AnyFunction>(
        current_.exchange(reinterpret_cast<Function>(function)));
  }

  bool hasCpuFunction() const override { return on_cpu_ != nullptr; }

  Function direct() const { return wrapper_; }

  Result operator()(Args... args) const {
    return current_.load(std::memory_order_relaxed)(
        std::forward<Args>(args)...);
  }

  // The function that stands in the slot while the operator has tools.
  Result callHooked(Args... args) {
    const Pass pass = takePass();
    if (pass == Pass::kWrapper) return wrapper_(std::forward<Args>(args)...);
    if (pass == Pass::kCpu) return on_cpu_(std::forward<Args>(args)...);
    return callBoxed<&detail::callHook>(std::forward<Args>(args)...);
  }

  // Computes the call on the CPU: counted, and possibly refused by policy.
  Result fallBack(Args... args) {
    if (on_cpu_ != nullptr) return on_cpu_(std::forward<Args>(args)...);
    return callBoxed<&detail::fallBackRefused>(std::forward<Args>(args)...);
  }

 private:
  template <c10::BoxedKernel::BoxedKernelFunction* kFunction>
  Result callBoxed(Args... args) {
    return c10::impl::BoxedKernelWrapper<Result(Args...)>::call(
        c10::BoxedKernel::makeFromFunction<kFunction>(), handle(),
        c10::DispatchKeySet(), std::forward<Args>(args)...);
  }

  const Function wrapper_;
  const Function on_cpu_;
  std::atomic<Function> current_;
};

// The function that the dispatcher calls for `kSlot`.
template <auto& kSlot>
struct Trampoline;

template <typename Result, typename... Args, Slot<Result(Args...)>& kSlot>
struct Trampoline<kSlot> {
  static Result call(Args... args) {
    return kSlot(std::forward<Args>(args)...);
  }
  static Result hooked(Args... args) {
    return kSlot.callHooked(std::forward<Args>(args)...);
  }
};

// The name of an operator as a template argument.
template <std::size_t kSize>
struct OperatorName {
  // NOLINTNEXTLINE: a string literal is one.
  constexpr OperatorName(const char (&name)[kSize]) {
    std::copy_n(name, kSize, text);
  }
  char text[kSize];
};

// The slot of a function that is registered as `kName`.
template <OperatorName kName, auto kFunction, auto kOnCpu>
inline constinit Slot<std::remove_pointer_t<decltype(kFunction)>> kSlotOf(
    kName.text, kFunction, kOnCpu);

// Registers the operator of `kSlot` in `library`, which stands for aten on the
// device's dispatch key.
template <auto& kSlot>
void bind(torch::Library& library) {
#ifdef DIPU_DIRECT_WRAPPERS
  library.impl(kSlot.name(), kSlot.direct());
#else
  library.impl(kSlot.name(), &Trampoline<kSlot>::call);
#endif
  kSlot.hooked_ =
      reinterpret_cast<SlotBase::AnyFunction>(&Trampoline<kSlot>::hooked);
  detail::addSlot(kSlot);
}

// Registers `kFunction` as the operator `kName`: bind<"rsub.Tensor", rsub>. For
// `kOnCpu` see Slot.
template <OperatorName kName, auto kFunction, auto kOnCpu = nullptr>
void bind(torch::Library& library) {
  bind<kSlotOf<kName, kFunction, kOnCpu>>(library);
}

}  // namespace dipu::adapter
