// SPDX-License-Identifier: Apache-2.0
//
// Starting a loaded vendor: its SDK is opened and its devices are counted.
#pragma once

#include <cstdint>
#include <string>

#include "core/abi/vendor_api.h"

namespace dipu::loader {

struct Started {
  int32_t devices = 0;
  // Why there is no device, to follow the vendor's name; "" when there is one.
  std::string problem;
};

// Calls `initialize` and counts the devices. `vendor` has been checked, see
// Library; `host` lives as long as the process. May be called again, also after
// a failure. Blocks. A vendor that breaks the contract, by an exception or an
// impossible number, is reported like one that fails.
Started startVendor(const dipu_vendor& vendor, const dipu_host_services& host);

}  // namespace dipu::loader
