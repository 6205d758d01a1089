// SPDX-License-Identifier: Apache-2.0
//
// The calls that Python's debug tools see.
#pragma once

#include <pybind11/pybind11.h>

namespace dipu::python {

// Binds the class Call and _set_observer(function), which makes `function` see
// the calls of the operators that have Tool.OBSERVE. It gets a Call and has to
// call run() once. It runs on the thread that calls the operator and holds the
// lock; operators that it calls itself are not observed, those that the call
// consists of are. An exception that it raises goes to the caller.
// And _memory_of(tensor), which tells where a tensor lies.
void bindObservedCalls(pybind11::module_& m);

// Whether the calling thread is in `function`, but not in a call that it runs:
// what is done now is done by a debug tool, not by the program.
bool observerRuns() noexcept;

}  // namespace dipu::python
