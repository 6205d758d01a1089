// SPDX-License-Identifier: Apache-2.0
//
// Whether the process of another rank lives.
#pragma once

#include <cstdint>

namespace dipu::pccl {

// When the process began, in the system's ticks; 0 if it has ended or cannot be
// seen. A process number that is used again has another time.
uint64_t startTimeOf(int32_t pid);

}  // namespace dipu::pccl
