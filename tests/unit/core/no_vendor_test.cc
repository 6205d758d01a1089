// SPDX-License-Identifier: Apache-2.0
//
// A process in which no vendor has been loaded, or could be.
#include <ATen/detail/PrivateUse1HooksInterface.h>

#include "core/allocator/device_allocator.h"
#include "core/allocator/host_allocator.h"
#include "tests/unit/core/testing.h"

namespace dipu {
namespace {

using testing::contains;
using testing::messageOf;

constexpr char kNoVendor[] =
    "no vendor is loaded; install torch_dipu_<vendor> and set DIPU_DEVICE";

TEST(NoVendorTest, HasNoDevicesAndDoesNotThrow) {
  EXPECT_FALSE(runtime::isLoaded());
  EXPECT_EQ(runtime::deviceCount(), 0);
  EXPECT_FALSE(runtime::tryInitialize());
  EXPECT_FALSE(at::detail::getPrivateUse1Hooks().isAvailable());
  EXPECT_FALSE(runtime::hasContext(0));
  EXPECT_EQ(runtime::initializationError(), kNoVendor);
}

TEST(NoVendorTest, CallsSayWhatToDo) {
  EXPECT_EQ(messageOf([] { runtime::currentDevice(); }), kNoVendor);
  EXPECT_EQ(messageOf([] { runtime::setDevice(0); }), kNoVendor);
  EXPECT_EQ(messageOf([] { runtime::currentStream(0); }), kNoVendor);
  EXPECT_EQ(messageOf([] { runtime::synchronizeDevice(0); }), kNoVendor);
  EXPECT_EQ(messageOf([] { runtime::vendor(); }), kNoVendor);
  EXPECT_EQ(messageOf([] { allocator::deviceAllocator().allocate(8); }),
            kNoVendor);
  EXPECT_EQ(messageOf([] { allocator::hostAllocator().allocate(8); }),
            kNoVendor);
}

TEST(NoVendorTest, AsksNobodyWhetherMemoryIsPinned) {
  int local = 0;
  EXPECT_FALSE(allocator::isPinned(&local));
}

TEST(NoVendorTest, CallsGiveTheReasonOnceItIsKnown) {
  runtime::explainMissingVendor("DIPU_DEVICE=moon is not installed");
  EXPECT_EQ(messageOf([] { runtime::currentDevice(); }),
            "DIPU_DEVICE=moon is not installed");
  EXPECT_EQ(messageOf([] { runtime::vendor(); }),
            "DIPU_DEVICE=moon is not installed");
  runtime::explainMissingVendor("");
  EXPECT_EQ(runtime::initializationError(), kNoVendor);
}

TEST(NoVendorTest, LoadingReportsTheLoadersText) {
  const std::string text =
      messageOf([] { runtime::loadVendor("/no/such/libdipu_none.so"); });
  EXPECT_TRUE(contains(text, "/no/such/libdipu_none.so")) << text;
  EXPECT_FALSE(runtime::isLoaded());
}

}  // namespace
}  // namespace dipu
