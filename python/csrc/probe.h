// SPDX-License-Identifier: Apache-2.0
//
// Looks into a vendor library without making it the vendor of the process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/abi/vendor_api.h"

namespace dipu::python {

// What a vendor says of itself.
struct VendorFacts {
  std::string name;
  std::string display_name;
  std::string version;
  std::string sdk_version;
  std::string abi;  // such as "1.0"
  std::string file;
  bool simulated = false;
};

struct ProbeResult {
  VendorFacts facts;
  int32_t devices = 0;
  std::string error;  // why there is no device; "" when there is one
};

// What opening a vendor library showed, before its SDK is touched.
struct OpenedVendor {
  VendorFacts facts;
  std::vector<std::string> notes;  // one line for each table that is left out
  std::string operator_library;    // absolute path; "" when there is none
};

// Version of the vendor contract that this host has, such as "1.0".
std::string hostAbi();

// Facts of a validated table; `file` is where it comes from.
VendorFacts factsOf(const dipu_vendor& vendor, const std::string& file);

// Opens the library at `path` and runs nothing but its static initialisers and
// its entry point. The library stays open. Throws loader::LoadError.
OpenedVendor openVendor(const std::string& path);

// Opens the library at `path`, initialises its SDK and counts its devices. The
// library stays open. Throws loader::LoadError when it cannot be opened.
ProbeResult probeVendor(const std::string& path);

}  // namespace dipu::python
