// SPDX-License-Identifier: Apache-2.0
//
// A vendor library whose slots throw: `initialize` the first and second time,
// get_count always.
#include <stdexcept>

#include "core/loader/tests/test_vendor.h"

namespace {

int g_calls = 0;

dipu_error* initialize(const dipu_host_services*) {
  ++g_calls;
  if (g_calls == 1) throw std::runtime_error("the card\xff is on fire");
  if (g_calls == 2) throw 7;
  return nullptr;
}

dipu_error* getCount(int32_t*) { throw std::logic_error("lost count"); }

struct Vendor : dipu::loader::testing::TestVendor {
  Vendor() {
    vendor.initialize = initialize;
    device.get_count = getCount;
  }
};

}  // namespace

const dipu_vendor* dipu_vendor_query(uint32_t) {
  static const Vendor vendor;
  return &vendor.vendor;
}
