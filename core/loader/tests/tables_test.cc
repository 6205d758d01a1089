// SPDX-License-Identifier: Apache-2.0
//
// What makes a vendor's tables acceptable, one message per mistake.
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "core/loader/loader.h"
#include "core/loader/tests/test_vendor.h"

namespace dipu::loader {
namespace {

using testing::TestVendor;

// The text with which `vendor` is refused; "" when it is accepted.
std::string refusal(const TestVendor& vendor) {
  try {
    Library::adopt(&vendor.vendor, "built in");
  } catch (const LoadError& error) {
    return error.what();
  }
  return "";
}

#define EXPECT_REFUSED(vendor, part) \
  EXPECT_NE(refusal(vendor).find(part), std::string::npos) << refusal(vendor)

TEST(Tables, AcceptsACompleteVendor) {
  TestVendor good;
  EXPECT_EQ(refusal(good), "");
  const Library library = Library::adopt(&good.vendor, "/opt/vendor/lib.so");
  EXPECT_STREQ(library.vendor().name, "test_vendor");
  EXPECT_EQ(library.operators(), &good.operators);
  EXPECT_EQ(library.operatorLibraryPath(),
            "/opt/vendor/libthird_party_operators.so");
  EXPECT_TRUE(library.notes().empty());
}

TEST(Tables, AnAbsoluteOperatorLibraryStaysAbsolute) {
  TestVendor vendor;
  vendor.operators.library = "/usr/lib/libdiopi_impl.so";
  EXPECT_EQ(Library::adopt(&vendor.vendor, "/opt/lib.so").operatorLibraryPath(),
            "/usr/lib/libdiopi_impl.so");
}

TEST(Tables, MessageNamesTheOrigin) {
  TestVendor bad;
  bad.vendor.name = nullptr;
  EXPECT_EQ(refusal(bad),
            "cannot load vendor library built in: the vendor's name is NULL");
}

TEST(Tables, RefusesANullVendor) {
  EXPECT_THROW(Library::adopt(nullptr, "built in"), LoadError);
}

TEST(Tables, RefusesAnotherMajorVersionOfTheContract) {
  TestVendor bad;
  bad.vendor.abi_version = DIPU_VERSION(2, 3);
  EXPECT_REFUSED(bad, "built for version 2.3");
  EXPECT_REFUSED(bad, "this host has 1.0");
}

TEST(Tables, RefusesAnotherMajorVersionOfARequiredTable) {
  TestVendor bad;
  bad.memory.version = DIPU_VERSION(2, 0);
  EXPECT_REFUSED(bad, "the table 'memory' has version 2.0, this host has 1.0");
}

TEST(Tables, RefusesAShortVendor) {
  TestVendor bad;
  bad.vendor.struct_size = offsetof(dipu_vendor, event);
  EXPECT_REFUSED(bad, "struct_size 80, at least 88 are needed");
}

TEST(Tables, RefusesAMissingTable) {
  TestVendor bad;
  bad.vendor.stream = nullptr;
  EXPECT_REFUSED(bad, "the required table 'stream' is NULL");
}

TEST(Tables, RefusesAnEmptyTable) {
  TestVendor bad;
  bad.event.struct_size = 0;
  EXPECT_REFUSED(bad, "the table 'event' has struct_size 0");
}

TEST(Tables, RefusesANullSlot) {
  TestVendor bad;
  bad.event.elapsed = nullptr;
  EXPECT_REFUSED(bad, "the required slot event.elapsed is NULL");
}

TEST(Tables, RefusesASlotBeyondTheTable) {
  TestVendor bad;
  bad.device.struct_size = offsetof(dipu_device_api, synchronize);
  EXPECT_REFUSED(bad, "the required slot device.synchronize");
}

TEST(Tables, RefusesABadName) {
  TestVendor bad;
  for (const char* name :
       {"", "Droplet", "my-chip", "abcdefghijklmnopqrstuvwxyzabcdefg"}) {
    bad.vendor.name = name;
    EXPECT_REFUSED(bad, "is not made of 1 to 32 letters");
  }
}

TEST(Tables, RefusesOperatorsWithoutALibrary) {
  TestVendor bad;
  bad.operators.library = nullptr;
  EXPECT_REFUSED(bad, "the required slot operators.library is NULL");
}

TEST(Tables, AnOlderVendorMayBeShorter) {
  TestVendor old;
  // What lies behind the end of an older struct belongs to somebody else.
  std::memset(&old.vendor.operators, 0xff,
              sizeof(dipu_vendor) - offsetof(dipu_vendor, operators));
  old.vendor.struct_size = offsetof(dipu_vendor, operators);
  old.device.struct_size = offsetof(dipu_device_api, reset);
  const Library library = Library::adopt(&old.vendor, "built in");
  EXPECT_EQ(library.operators(), nullptr);
  EXPECT_EQ(library.generator(), nullptr);
  EXPECT_EQ(library.operatorLibraryPath(), "");
}

TEST(Tables, ANewerVendorMayBeLonger) {
  TestVendor newer;
  newer.vendor.struct_size += 64;
  newer.vendor.abi_version = DIPU_VERSION(1, 9);
  newer.device.struct_size += 8;
  newer.device.version = DIPU_VERSION(1, 4);
  EXPECT_EQ(refusal(newer), "");
}

TEST(Tables, AnotherProvisionalVersionIsLeftOut) {
  TestVendor vendor;
  vendor.vendor.graph = &vendor.graph;
  EXPECT_EQ(Library::adopt(&vendor.vendor, "x").graph(), &vendor.graph);
  vendor.graph.version = DIPU_VERSION(0, 9);
  vendor.operators.version = DIPU_VERSION(1, 0);
  const Library library = Library::adopt(&vendor.vendor, "x");
  EXPECT_EQ(library.graph(), nullptr);
  EXPECT_EQ(library.operators(), nullptr);
  ASSERT_EQ(library.notes().size(), 2u);
  EXPECT_EQ(library.notes()[1],
            "the table 'graph' of version 0.9 is left out, this host has "
            "version 0.1");
}

}  // namespace
}  // namespace dipu::loader
