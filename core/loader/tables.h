// SPDX-License-Identifier: Apache-2.0
//
// The rules by which a host accepts a vendor's tables.
#pragma once

#include <string>
#include <vector>

#include "core/abi/vendor_api.h"

namespace dipu::loader {

// Returns why `vendor`, which may be null, cannot serve this host, and what to
// do; "" when it can.
std::string checkVendor(const dipu_vendor* vendor);

// Optional tables: whether the host may use `table` (null is "no"). `name` is
// that of the field in dipu_vendor, `host_version` the host's version of the
// table. When a table is left out a line is added to `notes`.
bool isUsable(const char* name, const void* table, uint32_t host_version,
              std::vector<std::string>& notes);

// "1.0".
std::string versionText(uint32_t version);

}  // namespace dipu::loader
