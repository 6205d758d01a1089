// SPDX-License-Identifier: Apache-2.0
//
// The end of a process whose device does not finish its work.
#include <unistd.h>

#include <chrono>

#include "core/runtime/stream.h"
#include "tests/unit/core/testing.h"

namespace dipu {
namespace {

using testing::contains;
using testing::messageOf;

dipu_error* waitForEver(int32_t /*device*/) {
  for (;;) pause();
}

TEST(HungShutdownTest, GivesUpAfterTheLimit) {
  static dipu_device_api device = *testing::fakeVendor()->device;
  static dipu_vendor vendor = *testing::fakeVendor();
  device.synchronize = waitForEver;
  vendor.device = &device;
  runtime::adoptVendor(&vendor, "fake");
  runtime::setDevice(0);
  const auto start = std::chrono::steady_clock::now();
  runtime::shutdown(std::chrono::milliseconds(50));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
  EXPECT_EQ(testing::calls().shutdown, 0) << "a call is still in the vendor";
  EXPECT_TRUE(contains(messageOf([] { runtime::currentStream(0); }),
                       "the process is ending"));
}

}  // namespace
}  // namespace dipu
