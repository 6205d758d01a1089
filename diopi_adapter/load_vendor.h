// SPDX-License-Identifier: Apache-2.0
//
// Loads a vendor and connects its operators to PyTorch.
#pragma once

#include <string>

#include "diopi_adapter/runtime/symbol_table.h"

namespace dipu::adapter {

struct VendorOptions {
  // Of libdipu_diopi_rt.so.
  std::string runtime_library;
  // Table of conversions to use instead of the one beside the vendor library,
  // see diopi_adapter/conversion. Empty: that one, if there is one.
  std::string conversions;
  // Looks at every value that is put into a smaller type.
  bool check_conversions = true;
};

// Makes the library at `path` the vendor of this process and registers every
// operator that its operator library can serve, together with the hand-written
// kernels and the CPU fallback. A vendor without an operator library gets the
// fallback for everything. Call it once, before tensors are made on the device.
// Throws c10::Error with the loader's text; nothing is loaded then.
void loadVendor(const std::string& path, const VendorOptions& options);

}  // namespace dipu::adapter
