// SPDX-License-Identifier: Apache-2.0
//
// A vendor library that looks at the libraries of the process and throws, as
// one with an unwinder of its own would, but uses the shared one. Built without
// exceptions it uses none.
#include <link.h>

#include <stdexcept>

#include "core/loader/tests/test_vendor.h"

namespace {

dipu_error* countLibraries(int32_t* out_count) {
  *out_count = 0;
  const auto add = [](dl_phdr_info*, size_t, void* count) {
    ++*static_cast<int32_t*>(count);
    return 0;
  };
  dl_iterate_phdr(add, out_count);
#ifdef __cpp_exceptions
  if (*out_count == 0) throw std::runtime_error("no library is loaded");
#endif
  return nullptr;
}

struct Vendor : dipu::loader::testing::TestVendor {
  Vendor() { device.get_count = countLibraries; }
};

}  // namespace

const dipu_vendor* dipu_vendor_query(uint32_t) {
  static const Vendor vendor;
  return &vendor.vendor;
}
