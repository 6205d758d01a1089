// SPDX-License-Identifier: Apache-2.0
#include "core/loader/tests/test_vendor.h"

const dipu_vendor* dipu_vendor_query(uint32_t max_abi_version) {
  static const dipu::loader::testing::TestVendor vendor;
  return max_abi_version >= DIPU_ABI_VERSION ? &vendor.vendor : nullptr;
}
