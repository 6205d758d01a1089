// SPDX-License-Identifier: Apache-2.0
//
// Loads a vendor and connects its operators to PyTorch.
#pragma once

#include <string>

#include "diopi_adapter/runtime/symbol_table.h"

namespace dipu::adapter {

// Makes the library at `path` the vendor of this process and registers every
// operator that its operator library can serve, together with the hand-written
// kernels and the CPU fallback. A vendor without an operator library gets the
// fallback for everything. `runtime_library` is the path of
// libdipu_diopi_rt.so. Call it once, before tensors are made on the device.
// Throws c10::Error with the loader's text; nothing is loaded then.
void loadVendor(const std::string& path, const std::string& runtime_library);

}  // namespace dipu::adapter
