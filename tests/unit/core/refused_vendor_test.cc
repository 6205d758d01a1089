// SPDX-License-Identifier: Apache-2.0
//
// A vendor library that the loader refuses is not the vendor of the process,
// not even by halves: another one can be loaded and starts.
#include <string>
#include <vector>

#include "tests/unit/core/testing.h"

namespace dipu {
namespace {

using testing::contains;
using testing::messageOf;

constexpr char kFolder[] = "core/loader/tests/";

TEST(RefusedVendorTest, LeavesThePlaceToAnother) {
  for (const char* name : {"libwrong_major.so", "libnull_slot.so"}) {
    const std::string path = std::string(kFolder) + name;
    const std::string text = messageOf([&] { runtime::loadVendor(path); });
    EXPECT_TRUE(contains(text, path)) << text;
    EXPECT_FALSE(runtime::isLoaded());
    EXPECT_EQ(runtime::deviceCount(), 0);
    EXPECT_TRUE(
        contains(runtime::initializationError(), "no vendor is loaded"));
  }
  runtime::loadVendor(std::string(kFolder) + "libalpha_vendor.so");
  EXPECT_EQ(runtime::deviceCount(), 1) << runtime::initializationError();
  EXPECT_STREQ(runtime::vendor().name, "alpha");
}

}  // namespace
}  // namespace dipu
