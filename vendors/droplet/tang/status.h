// SPDX-License-Identifier: Apache-2.0
//
// tang's errors over softdevice's, and the calling thread's context.
#pragma once

#include "softdevice/softdevice.h"
#include "vendors/droplet/tang/tang_runtime.h"

namespace dipu::tang {

// Notes the failure as the thread's last error, with the formatted details, and
// returns the code.
[[gnu::format(printf, 2, 3)]] tangError_t fail(tangError_t code,
                                               const char* format, ...);

// Translates a status of softdevice and notes a failure with its text.
tangError_t check(soft_status status);

// The current device of the calling thread.
int currentDevice();

// The softdevice stream that a handle names: NULL is the current device's
// default stream.
tangError_t resolveStream(tangStream_t stream, soft_stream** out_stream);

}  // namespace dipu::tang
