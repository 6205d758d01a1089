// SPDX-License-Identifier: Apache-2.0
//
// A vendor that does not call itself simulated. Its name is given by the build,
// the number of its devices by the environment, as TEST_VENDOR_CARDS (default
// 1).
#include <cstdlib>

#include "core/loader/tests/test_vendor.h"

namespace {

dipu_error* getCount(int32_t* out_count) {
  const char* cards = std::getenv("TEST_VENDOR_CARDS");
  *out_count = cards == nullptr ? 1 : std::atoi(cards);
  return nullptr;
}

struct Vendor : dipu::loader::testing::TestVendor {
  Vendor() {
    vendor.name = CARDED_VENDOR_NAME;
    vendor.operators = nullptr;
    device.get_count = getCount;
  }
};

}  // namespace

const dipu_vendor* dipu_vendor_query(uint32_t) {
  static const Vendor vendor;
  return &vendor.vendor;
}
