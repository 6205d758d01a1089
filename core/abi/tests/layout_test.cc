// SPDX-License-Identifier: Apache-2.0
#include "core/abi/tests/layout.h"

#include <gtest/gtest.h>

#include <cstring>

namespace {

TEST(VendorAbi, AVendorMayBeWrittenInC) {
  // Defined in layout_c.c.
  const dipu_vendor* vendor = dipu_vendor_query(DIPU_ABI_VERSION);
  ASSERT_NE(vendor, nullptr);
  EXPECT_STREQ(vendor->name, "c_vendor");
  EXPECT_EQ(dipu_vendor_query(DIPU_VERSION(2, 0)), nullptr);
}

TEST(VendorAbi, HasStopsAtTheWritersSize) {
  dipu_device_api api;
  std::memset(&api, 0xff, sizeof(api));  // what lies behind an old struct
  api.struct_size = offsetof(dipu_device_api, reset);
  EXPECT_TRUE(DIPU_HAS(&api, get_properties));
  EXPECT_FALSE(DIPU_HAS(&api, reset));
  EXPECT_FALSE(DIPU_REACHES(&api, reset));
  api.struct_size += sizeof(api.reset) - 1;
  EXPECT_FALSE(DIPU_HAS(&api, reset)) << "only a part of the field";
  api.struct_size += 1;
  EXPECT_TRUE(DIPU_HAS(&api, reset));
}

TEST(VendorAbi, HasIsFalseForANullSlot) {
  dipu_device_api api{};
  api.struct_size = sizeof(api);
  EXPECT_TRUE(DIPU_REACHES(&api, reset));
  EXPECT_FALSE(DIPU_HAS(&api, reset));
}

}  // namespace
