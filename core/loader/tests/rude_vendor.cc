// SPDX-License-Identifier: Apache-2.0
//
// A vendor library that says what is no text wherever it may say something,
// and counts more devices than there can be. DIPU_RUDE_VENDOR in the
// environment chooses what else it does: "fail" and "throw" when it starts;
// "many" counts more devices than a process uses and has an empty table;
// "late" throws whenever it waits and when it ends; "stuck" never ends.
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "core/loader/tests/test_vendor.h"

namespace {

std::string mood() {
  const char* variable = std::getenv("DIPU_RUDE_VENDOR");
  return variable == nullptr ? "" : variable;
}

dipu_error* initialize(const dipu_host_services* host) {
  static dipu_error error = {
      sizeof(error),     DIPU_UNAVAILABLE, 0, 0, "no \xff\xfe driver \xc3",
      [](dipu_error*) {}};
  if (mood() == "throw") throw 7;
  host->log(DIPU_LOG_WARNING, "rude \xff words");
  return mood() == "fail" ? &error : nullptr;
}

dipu_error* getCount(int32_t* out_count) {
  const bool works = mood() == "late" || mood() == "stuck";
  *out_count = works ? 1 : mood() == "many" ? 100 : 5000;
  return nullptr;
}

dipu_error* synchronize(int32_t /*device*/) {
  if (mood() == "late") throw 7;
  return nullptr;
}

void shutDown() {
  if (mood() == "late") throw 7;
  while (mood() == "stuck") pause();
}

struct Vendor : dipu::loader::testing::TestVendor {
  dipu_ipc_api ipc{};

  Vendor() {
    vendor.display_name = "\xff name";
    vendor.version = "\xfe";
    vendor.sdk_version = "\x80";
    vendor.initialize = initialize;
    vendor.operators = nullptr;
    vendor.shutdown = shutDown;
    device.get_count = getCount;
    device.synchronize = synchronize;
    ipc.struct_size = sizeof(ipc);
    ipc.version = DIPU_IPC_API_VERSION;
    if (mood() == "many") vendor.ipc = &ipc;
  }
};

}  // namespace

const dipu_vendor* dipu_vendor_query(uint32_t) {
  static const Vendor vendor;
  return &vendor.vendor;
}
