// SPDX-License-Identifier: Apache-2.0
//
// What Python tells about the program whose operators fall back.
#pragma once

#include <pybind11/pybind11.h>

namespace dipu::python {

// Lets fallback accounting ask `line_of_caller()` -> str and
// `allows_operator(label)` -> bool, see fallback::Frontend. Any thread calls
// them, with the interpreter's lock; no more once the interpreter ends. What
// they raise, such as KeyboardInterrupt, ends the operator's call. Call it
// again to replace them.
void setFallbackFrontend(pybind11::function line_of_caller,
                         pybind11::function allows_operator);

}  // namespace dipu::python
