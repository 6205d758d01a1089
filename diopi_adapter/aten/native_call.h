// SPDX-License-Identifier: Apache-2.0
//
// What hand-written operators share: try a DIOPI function, else compute on the
// CPU. Internal to this folder.
#pragma once

#include <ATen/native/CPUFallback.h>
#include <ATen/native/Resize.h>

#include <optional>
#include <tuple>
#include <type_traits>

#include "diopi_adapter/fallback/accounting.h"
#include "diopi_adapter/fallback/counters.h"
#include "diopi_adapter/fallback/cpu_fallback.h"
#include "diopi_adapter/runtime/call.h"
#include "diopi_adapter/runtime/slot.h"
#include "diopi_adapter/runtime/symbol_table.h"

namespace dipu::aten {

// The reason to note where a function of the symbol table is null.
inline constexpr char kLacksFunction[] =
    "the vendor's operator library lacks the function";

// The fallback of generated code, with the reason that CallContext noted.
void fallBackWithReason(const c10::OperatorHandle& op,
                        torch::jit::Stack* stack);

// Runs the operator `Op`, a class of at::_ops, on the CPU; counted.
template <typename Op, typename... Args>
decltype(auto) onCpu(Args&&... args) {
  return at::native::call_fallback_fn<&fallBackWithReason, Op>::call(
      std::forward<Args>(args)...);
}

inline at::Tensor toCpu(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.to(c10::kCPU) : tensor;
}
inline std::optional<at::Tensor> toCpu(
    const std::optional<at::Tensor>& tensor) {
  return tensor.has_value() ? std::optional(toCpu(*tensor)) : std::nullopt;
}
template <typename Value>
Value toCpu(Value value) {
  return value;
}

// Accounts for a fallback while in scope, with the reason that CallContext
// noted; for functions that compute on the CPU what the CPU has no kernel for.
// Nothing is counted, or forbidden, when the tensor `given` is on the CPU: then
// a debug tool computes (computeOnCpu in runtime/slot.h).
class ReferenceScope {
 public:
  ReferenceScope(const char* label, const at::Tensor& given) {
    if (!given.is_cpu()) account_.emplace(label, adapter::refusalReason());
  }

 private:
  std::optional<fallback::FallbackScope> account_;
};

// For operators that the CPU has no kernel for, and whose function `kFunction`
// consists of operators that it has: computes that on the CPU. Takes and
// returns tensors of the device, the first argument being one.
template <adapter::OperatorName kName, auto kFunction>
struct OnCpu;

template <adapter::OperatorName kName, typename Result, typename... Args,
          Result (*kFunction)(const at::Tensor&, Args...)>
struct OnCpu<kName, kFunction> {
  static Result call(const at::Tensor& first, Args... args) {
    const ReferenceScope account(kName.text, first);
    const c10::Device device = first.device();
    const auto back = [device](const at::Tensor& tensor) {
      return tensor.defined() ? tensor.to(device) : tensor;
    };
    Result result = kFunction(toCpu(first), toCpu(args)...);
    if constexpr (std::is_same_v<Result, at::Tensor>) {
      return back(result);
    } else {
      return std::apply(
          [&](const auto&... tensors) { return Result(back(tensors)...); },
          result);
    }
  }
};

// For the out variant of such an operator: stores in its last argument what
// `kFunction`, with the other arguments, gives.
template <auto kFunction>
struct Storing;

template <typename... Args, at::Tensor (*kFunction)(Args...)>
struct Storing<kFunction> {
  static at::Tensor& call(Args... args, at::Tensor& out) {
    const at::Tensor result = kFunction(std::forward<Args>(args)...);
    TORCH_CHECK(out.scalar_type() == result.scalar_type(),
                "Expected out tensor to have dtype ", result.scalar_type(),
                ", but got ", out.scalar_type(), " instead");
    at::native::resize_output(out, result.sizes());
    return out.copy_(result);
  }
};

// bind() for such an operator.
template <adapter::OperatorName kName, auto kFunction>
void bindWithCpu(torch::Library& library) {
  adapter::bind<kName, kFunction, &OnCpu<kName, kFunction>::call>(library);
}

// bind() for its out variant, which is called `kName`.
template <adapter::OperatorName kName, auto kOutFunction, auto kFunction>
void bindOutWithCpu(torch::Library& library) {
  adapter::bind<kName, kOutFunction,
                &Storing<&OnCpu<kName, kFunction>::call>::call>(library);
}

}  // namespace dipu::aten
