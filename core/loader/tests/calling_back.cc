// SPDX-License-Identifier: Apache-2.0
//
// A vendor library that calls into the program while it is being opened.
#include "core/loader/tests/hook.h"
#include "core/loader/tests/test_vendor.h"

namespace {

[[gnu::constructor]] void onOpen() {
  dipu::loader::testing::callHook("constructor");
}

}  // namespace

const dipu_vendor* dipu_vendor_query(uint32_t) {
  static const dipu::loader::testing::TestVendor vendor;
  dipu::loader::testing::callHook("query");
  return &vendor.vendor;
}
