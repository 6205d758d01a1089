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
// With DIPU_DIRECT_WRAPPERS defined, wrappers are registered without slots: the
// control of the measurement that "off" costs nothing.
#pragma once

#include <ATen/core/boxing/BoxedKernel.h>
#include <ATen/core/boxing/impl/boxing.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include <atomic>
#include <string_view>
#include <utility>
#include <vector>

#include "diopi_adapter/fallback/counters.h"

namespace dipu::adapter {

// What all slots share. Slots are constant-initialised static objects and live
// for ever.
class SlotBase {
 public:
  using AnyFunction = void (*)();

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

  // Adds one to native.<name> while native calls are counted.
  void countNative() {
    if (__builtin_expect(fallback::countingNative(), 0)) addNative();
  }

  // The operator's entry in the dispatcher. Takes a lock the first time.
  const c10::OperatorHandle& handle();

 protected:
  ~SlotBase() = default;

 private:
  void addNative();

  const char* const name_;
  std::atomic<fallback::Counter*> native_{nullptr};
  std::atomic<const c10::OperatorHandle*> handle_{nullptr};
};

// All slots of operators that are registered for the device, sorted by name.
// Complete once registration is; then any thread.
const std::vector<SlotBase*>& slots();

// The slot called `name`, or null when the operator is not registered.
SlotBase* findSlot(std::string_view name);

namespace detail {
void addSlot(SlotBase& slot);
// The CPU fallback, with the reason that the wrapper noted (call.h).
void fallBackRefused(const c10::OperatorHandle& op, torch::jit::Stack* stack);
}  // namespace detail

template <typename Function>
class Slot;

template <typename Result, typename... Args>
class Slot<Result(Args...)> final : public SlotBase {
 public:
  using Function = Result (*)(Args...);

  constexpr Slot(const char* name, Function wrapper)
      : SlotBase(name), wrapper_(wrapper), current_(wrapper) {}

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

  Function direct() const { return wrapper_; }

  Result operator()(Args... args) const {
    return current_.load(std::memory_order_relaxed)(
        std::forward<Args>(args)...);
  }

  // Computes the call on the CPU: counted, and possibly refused by policy.
  Result fallBack(Args... args) {
    return c10::impl::BoxedKernelWrapper<Result(Args...)>::call(
        c10::BoxedKernel::makeFromFunction<&detail::fallBackRefused>(),
        handle(), c10::DispatchKeySet(), std::forward<Args>(args)...);
  }

 private:
  const Function wrapper_;
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
};

// Registers the operator of `kSlot` in `library`, which stands for aten on the
// device's dispatch key.
template <auto& kSlot>
void bind(torch::Library& library) {
#ifdef DIPU_DIRECT_WRAPPERS
  library.impl(kSlot.name(), kSlot.direct());
#else
  library.impl(kSlot.name(), &Trampoline<kSlot>::call);
#endif
  detail::addSlot(kSlot);
}

}  // namespace dipu::adapter
