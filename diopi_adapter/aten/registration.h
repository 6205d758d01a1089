// SPDX-License-Identifier: Apache-2.0
//
// Registers the hand-written operators: those that generated wrappers cannot
// express because they make, view, move or draw tensors.
#pragma once

namespace dipu::aten {

// Registers every hand-written kernel, the CPU fallback and the refusals for
// layouts without a kernel with the dispatcher, for the rest of the process.
// Call it once a vendor has been chosen; later calls do nothing. Thread-safe.
// Nothing is registered by static initialisation.
void registerAtenKernels();

}  // namespace dipu::aten
