// SPDX-License-Identifier: Apache-2.0
#include "diopi_adapter/aten/native_call.h"

namespace dipu::aten {

void fallBackWithReason(const c10::OperatorHandle& op,
                        torch::jit::Stack* stack) {
  fallback::cpuFallback(op, stack, adapter::refusalReason());
}

}  // namespace dipu::aten
