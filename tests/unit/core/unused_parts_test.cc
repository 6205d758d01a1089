// SPDX-License-Identifier: Apache-2.0
//
// A vendor that offers more than the host uses: the user is told, once.
#include "tests/unit/core/testing.h"

namespace dipu {
namespace {

using testing::contains;

dipu_error* countMany(int32_t* out_count) {
  *out_count = 100;
  return nullptr;
}

TEST(UnusedPartsTest, AreToldWhenTheVendorStarts) {
  static dipu_graph_api graph{};
  static dipu_device_api device = *testing::fakeVendor()->device;
  static dipu_vendor vendor = *testing::fakeVendor();
  graph.struct_size = sizeof(graph);
  graph.version = DIPU_GRAPH_API_VERSION;
  device.get_count = countMany;
  vendor.device = &device;
  vendor.graph = &graph;
  ::testing::internal::CaptureStderr();
  runtime::adoptVendor(&vendor, "fake");
  EXPECT_EQ(runtime::deviceCount(), 64);
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_TRUE(contains(log,
                       "vendor fake has 100 devices, of which the first 64 are "
                       "used"))
      << log;
  EXPECT_TRUE(contains(log,
                       "vendor fake: the table 'graph' is left out: the "
                       "required slot graph.begin_capture is NULL"))
      << log;
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(runtime::deviceCount(), 64);
  runtime::setDevice(1);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace dipu
