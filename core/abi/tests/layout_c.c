/* SPDX-License-Identifier: Apache-2.0
 *
 * A vendor library in C11. */
#include "core/abi/tests/layout.h"

static const dipu_vendor kVendor = {
    .struct_size = sizeof(dipu_vendor),
    .abi_version = DIPU_ABI_VERSION,
    .name = "c_vendor",
    .display_name = "Vendor written in C",
    .version = "1",
    .sdk_version = "",
};

const dipu_vendor* dipu_vendor_query(uint32_t max_abi_version) {
  return DIPU_VERSION_MAJOR(max_abi_version) == 1 ? &kVendor : NULL;
}
