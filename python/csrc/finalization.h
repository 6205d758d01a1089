// SPDX-License-Identifier: Apache-2.0
//
// Threads that still run when the interpreter ends.
#pragma once

namespace dipu::python {

// Whether the interpreter is ending. Any thread; needs no lock.
bool isFinalizing();

// Note [Threads at the end of the interpreter]
// Before version 3.14 Python ends a daemon thread that wants the interpreter
// back after its end has begun, by unwinding the thread's stack. On that stack
// lie destructors of torch's bindings, which must not be unwound, so the whole
// process would be aborted instead. Such threads stand still until the process
// has ended, as they do from 3.14 on.
//
// Call it when the interpreter is about to end, with the interpreter's lock.
void parkThreadsAtFinalization();

}  // namespace dipu::python
