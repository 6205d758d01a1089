// SPDX-License-Identifier: Apache-2.0
//
// A vendor library that says what is no text wherever it may say something,
// and counts more devices than there can be. DIPU_RUDE_VENDOR in the
// environment chooses how it starts: "fail", "throw" or, by default, that
// number.
#include <cstdlib>
#include <string>

#include "core/loader/tests/test_vendor.h"

namespace {

dipu_error* initialize(const dipu_host_services* host) {
  static dipu_error error = {
      sizeof(error),     DIPU_UNAVAILABLE, 0, 0, "no \xff\xfe driver \xc3",
      [](dipu_error*) {}};
  const char* variable = std::getenv("DIPU_RUDE_VENDOR");
  const std::string mood = variable == nullptr ? "" : variable;
  if (mood == "throw") throw 7;
  host->log(DIPU_LOG_WARNING, "rude \xff words");
  return mood == "fail" ? &error : nullptr;
}

dipu_error* getCount(int32_t* out_count) {
  *out_count = 5000;
  return nullptr;
}

struct Vendor : dipu::loader::testing::TestVendor {
  Vendor() {
    vendor.display_name = "\xff name";
    vendor.version = "\xfe";
    vendor.sdk_version = "\x80";
    vendor.initialize = initialize;
    vendor.operators = nullptr;
    device.get_count = getCount;
  }
};

}  // namespace

const dipu_vendor* dipu_vendor_query(uint32_t) {
  static const Vendor vendor;
  return &vendor.vendor;
}
