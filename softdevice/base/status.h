// SPDX-License-Identifier: Apache-2.0
//
// How functions of this library report a failure.
#pragma once

#include <new>

#include "softdevice/softdevice.h"

namespace dipu::softdevice {

// Notes the formatted text as the calling thread's last message and returns
// `status`. The text says what failed, with which values and what to do.
__attribute__((format(printf, 2, 3))) soft_status fail(soft_status status,
                                                       const char* format, ...);

// Calls `body`, which allocates host memory and returns a soft_status.
template <typename Body>
soft_status withHostMemory(const char* function, const Body& body) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return fail(SOFT_OUT_OF_MEMORY, "%s: no host memory", function);
  }
}

}  // namespace dipu::softdevice
