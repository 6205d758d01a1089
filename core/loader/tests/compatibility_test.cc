// SPDX-License-Identifier: Apache-2.0
//
// Vendor libraries that were built from other headers than today's.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "core/loader/loader.h"
#include "core/loader/start.h"

namespace dipu::loader {
namespace {

namespace fs = std::filesystem;

constexpr char kFolder[] = "core/abi/frozen/";

constexpr dipu_host_services kHost = {sizeof(dipu_host_services),
                                      DIPU_ABI_VERSION, 0,
                                      [](dipu_log_level, const char*) {}};

TEST(Compatibility, EveryVersionLoadsAndStarts) {
  int opened = 0;
  for (const fs::directory_entry& file : fs::directory_iterator(kFolder)) {
    if (file.path().extension() != ".so") continue;
    SCOPED_TRACE(file.path());
    const Library library = Library::open(file.path());
    EXPECT_TRUE(library.notes().empty());
    EXPECT_EQ(startVendor(library.vendor(), kHost).devices, 1);
    ++opened;
  }
  EXPECT_GE(opened, 3) << "the released ones, today's and a later one";
}

TEST(Compatibility, ALaterVersionIsLonger) {
  const Library library =
      Library::open(kFolder + std::string("libplugin_newer.so"));
  EXPECT_GT(library.vendor().abi_version, DIPU_ABI_VERSION);
  EXPECT_GT(library.vendor().struct_size, sizeof(dipu_vendor));
  EXPECT_GT(library.vendor().event->struct_size, sizeof(dipu_event_api));
}

}  // namespace
}  // namespace dipu::loader
