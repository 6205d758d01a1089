// SPDX-License-Identifier: Apache-2.0
//
// A vendor library with one mistake in its tables: the statement
// DIPU_TEST_MISTAKE, given by the build.
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <iostream>

#include "core/loader/tests/test_vendor.h"

namespace {

// For the slot `initialize`: none of them returns.

[[maybe_unused]] dipu_error* crash(const dipu_host_services*) {
  std::cerr << "the card is on fire" << std::endl;
  std::raise(SIGSEGV);
  return nullptr;
}

[[maybe_unused]] dipu_error* hang(const dipu_host_services*) {
  while (true) pause();
}

[[maybe_unused]] dipu_error* leave(const dipu_host_services*) { std::_Exit(0); }

struct Vendor : dipu::loader::testing::TestVendor {
  Vendor() { DIPU_TEST_MISTAKE; }
};

}  // namespace

const dipu_vendor* dipu_vendor_query(uint32_t) {
  static const Vendor vendor;
  return &vendor.vendor;
}
