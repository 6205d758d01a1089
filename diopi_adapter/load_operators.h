// SPDX-License-Identifier: Apache-2.0
//
// Connects the loaded vendor's operators to PyTorch.
#pragma once

#include <string>

#include "diopi_adapter/runtime/symbol_table.h"

namespace dipu::adapter {

// Opens the operator library of the vendor that runtime::loadVendor loaded,
// resolves its functions and registers every operator that can be served,
// together with the hand-written kernels and the CPU fallback. A vendor without
// an operator library gets the fallback for everything. `runtime_library` is
// the path of libdipu_diopi_rt.so. Call it once, before tensors are made on the
// device. Throws c10::Error with the loader's text.
void loadOperators(const std::string& runtime_library);

}  // namespace dipu::adapter
