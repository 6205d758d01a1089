// SPDX-License-Identifier: Apache-2.0
//
// A vendor library with one mistake in its tables: the statement
// DIPU_TEST_MISTAKE, given by the build.
#include <cstddef>

#include "core/loader/tests/test_vendor.h"

namespace {

struct Vendor : dipu::loader::testing::TestVendor {
  Vendor() { DIPU_TEST_MISTAKE; }
};

}  // namespace

const dipu_vendor* dipu_vendor_query(uint32_t) {
  static const Vendor vendor;
  return &vendor.vendor;
}
