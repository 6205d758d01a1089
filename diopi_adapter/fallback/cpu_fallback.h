// SPDX-License-Identifier: Apache-2.0
//
// Computing an operator on the CPU when the device has no kernel for it.
//
// Note [CPU fallback]
// The operator sees CPU tensors with the strides and the aliasing of its device
// arguments (host_images.h). Where the host can use the device's memory itself
// they lie in it and nothing is copied, except for results. Afterwards
//   - arguments that the schema declares as written, and those that are written
//     without being declared (arguments.h), are copied back into the same
//     device memory unless they lie in it;
//   - a result that is an argument is returned as that very device tensor, a
//     result that is a view of an argument as the same view of the device
//     tensor, and any other result as a new device tensor;
//   - generators are replaced by CPU generators that draw in their name
//     (cpu_generator.h), device arguments by the CPU.
// Every call is counted, see accounting.h. It blocks until the device has
// reached this point of the current stream.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <string_view>

namespace dipu::fallback {

// Whether fallbacks may compute in the device's memory where the host can use
// it, as at the start, or always copy. May be called at any time.
void setInPlace(bool allowed);

// Runs `op` on the CPU. Throws c10::NotImplementedError, naming the operator,
// when the CPU has no kernel either, when arguments or results are tensors that
// the device cannot hold, or when falling back is forbidden.
// `reason` is for the user, see FallbackRecord; may be empty.
void cpuFallback(const c10::OperatorHandle& op, torch::jit::Stack* stack,
                 std::string_view reason);

// As above without a particular reason: the boxed kernel of operators that
// nothing else is registered for.
void cpuFallback(const c10::OperatorHandle& op, torch::jit::Stack* stack);

// Says, for `op` on sparse, quantized or nested tensors, that the device has no
// such tensors and what to do. Always throws c10::NotImplementedError.
void refuseLayout(const c10::OperatorHandle& op, torch::jit::Stack* stack);

}  // namespace dipu::fallback
