// SPDX-License-Identifier: Apache-2.0
//
// A vendor whose SDK cannot start: it stays loaded, without devices.
#include <ATen/detail/PrivateUse1HooksInterface.h>

#include "tests/unit/core/testing.h"

namespace dipu {
namespace {

using testing::contains;
using testing::messageOf;

TEST(FailingVendorTest, KeepsTheReason) {
  testing::failInitialize("the driver is missing");
  runtime::adoptVendor(testing::fakeVendor(), "fake");
  EXPECT_TRUE(runtime::isLoaded());
  EXPECT_EQ(testing::calls().initialize, 0) << "loading must not start the SDK";

  EXPECT_EQ(runtime::deviceCount(), 0);
  EXPECT_FALSE(at::detail::getPrivateUse1Hooks().isAvailable());
  EXPECT_TRUE(
      contains(runtime::initializationError(),
               "vendor fake (fake) could not start: the driver is missing"));
  EXPECT_TRUE(contains(messageOf([] { runtime::setDevice(0); }),
                       "the driver is missing"));
  EXPECT_EQ(testing::calls().initialize, 1) << "the SDK is tried once";
}

TEST(FailingVendorTest, RefusesASecondVendor) {
  static dipu_vendor other = *testing::fakeVendor();
  other.name = "other";
  runtime::adoptVendor(testing::fakeVendor(), "fake");
  EXPECT_TRUE(contains(
      messageOf([] { runtime::adoptVendor(&other, "elsewhere"); }),
      "vendor other (elsewhere) cannot be loaded: this process already uses "
      "vendor fake (fake)"));
}

}  // namespace
}  // namespace dipu
