// SPDX-License-Identifier: Apache-2.0
//
// tang failures as errors of the contract.
#pragma once

#include <cstdint>

#include "core/abi/base.h"
#include "vendors/droplet/tang/tang_runtime.h"

namespace dipu::vendors::droplet {

// The canonical code for a tang code.
dipu_status_code canonicalCode(tangError_t code) noexcept;

// Returns NULL when `code` is success, else an error that names the call, the
// tang code and its text. `format` describes the call and its values, as in
// "tangMalloc of %zu bytes".
[[gnu::format(printf, 2, 3)]] dipu_error* check(tangError_t code,
                                                const char* format,
                                                ...) noexcept;

}  // namespace dipu::vendors::droplet
