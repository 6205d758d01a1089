// SPDX-License-Identifier: Apache-2.0
//
// What to say about a C++ exception that a vendor let out against its contract.
#pragma once

#include <string>

namespace dipu::loader {

// Describes the exception that is being handled, with what to do, to follow
// whoever threw it: "threw a C++ exception: ...". Call it inside a handler
// only.
std::string currentException();

}  // namespace dipu::loader
