// SPDX-License-Identifier: Apache-2.0
//
// The end of a process whose vendor does not come back from its `shutdown`.
#include <unistd.h>

#include <chrono>

#include "tests/unit/core/testing.h"

namespace dipu {
namespace {

using testing::contains;
using testing::messageOf;

void waitForEver() {
  for (;;) pause();
}

TEST(HungSdkTest, GivesUpAfterTheLimit) {
  static dipu_vendor vendor = *testing::fakeVendor();
  vendor.shutdown = waitForEver;
  runtime::adoptVendor(&vendor, "fake");
  runtime::setDevice(0);
  ::testing::internal::CaptureStderr();
  const auto start = std::chrono::steady_clock::now();
  runtime::shutdown(std::chrono::milliseconds(50));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_TRUE(contains(log,
                       "fake: the process ends inside the vendor's shutdown, "
                       "which had not returned after 50 ms"))
      << log;
  EXPECT_TRUE(contains(messageOf([] { runtime::currentStream(0); }),
                       "the process is ending"));
}

}  // namespace
}  // namespace dipu
