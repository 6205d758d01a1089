// SPDX-License-Identifier: Apache-2.0
//
// The last failure of the calling thread.
#pragma once

#include <string>

#include "vendors/droplet/tang/pccl/pccl.h"

namespace dipu::pccl {

// Notes the formatted text and returns the code.
[[gnu::format(printf, 2, 3)]] pcclResult_t fail(pcclResult_t code,
                                                const char* format, ...);
// The same for a failure of tang, with its text.
pcclResult_t failOfTang(const char* call, tangError_t error);

// The text; "" if there was none. Valid until the thread's next failure.
const char* lastFailure();
void setLastFailure(const std::string& text);

}  // namespace dipu::pccl
