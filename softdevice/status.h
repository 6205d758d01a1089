// SPDX-License-Identifier: Apache-2.0
//
// How functions of this library report a failure.
#pragma once

#include "softdevice/softdevice.h"

namespace dipu::softdevice {

// Notes the formatted text as the calling thread's last message and returns
// `status`. The text says what failed, with which values and what to do.
__attribute__((format(printf, 2, 3))) soft_status fail(soft_status status,
                                                       const char* format, ...);

}  // namespace dipu::softdevice
