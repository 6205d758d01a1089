// SPDX-License-Identifier: Apache-2.0
//
// Looks into a vendor library without making it the vendor of the process.
#pragma once

#include <cstdint>
#include <string>

namespace dipu::python {

struct VendorFacts {
  std::string name;
  std::string display_name;
  std::string version;
  std::string sdk_version;
  std::string abi;  // "1.0"
  bool simulated = false;
};

struct ProbeResult {
  VendorFacts facts;
  int32_t devices = 0;
  std::string error;  // why there are no devices; "" when there are
};


// Opens the library at `path`, initialises its SDK and counts its devices.
// Throws std::runtime_error with the loader's text when it cannot be opened.
// The library stays open.
ProbeResult probeVendor(const std::string& path);

}  // namespace dipu::python
