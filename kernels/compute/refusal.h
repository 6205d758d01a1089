// SPDX-License-Identifier: Apache-2.0
//
// Errors about values, which only work that runs can see.
#pragma once

#include <cstdarg>
#include <cstdio>

#include "kernels/compute/parallel.h"

namespace dipu::kernels {

// Makes the device's error sticky, as failTask does, with a text in printf's
// format: the value and its element, and what would be right. The name of the
// queue, which is that of the DIOPI function, is put in front of it. What
// exceeds 255 characters is cut off. To be called by work that runs, from any
// thread of its team.
[[gnu::format(printf, 1, 2), gnu::cold, gnu::noinline]] inline void refuse(
    const char* format, ...) {
  char message[256];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(message, sizeof(message), format, arguments);
  va_end(arguments);
  failTask(SOFT_LAUNCH_FAILURE, message);
}

}  // namespace dipu::kernels
