// SPDX-License-Identifier: Apache-2.0
//
// What hand-written operators share: try a DIOPI function, else compute on the
// CPU. Internal to this folder.
#pragma once

#include <ATen/native/CPUFallback.h>

#include "diopi_adapter/fallback/counters.h"
#include "diopi_adapter/fallback/cpu_fallback.h"
#include "diopi_adapter/runtime/call.h"
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

}  // namespace dipu::aten
