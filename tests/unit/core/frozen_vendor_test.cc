// SPDX-License-Identifier: Apache-2.0
//
// Core on a vendor library that was built from other headers than today's,
// DIPU_VENDOR_LIBRARY: those of a released version, or of a later one.
#include <c10/core/Event.h>

#include <cstdlib>
#include <vector>

#include "core/allocator/device_allocator.h"
#include "core/allocator/host_allocator.h"
#include "core/runtime/error.h"
#include "core/runtime/memory.h"
#include "tests/unit/core/testing.h"

namespace dipu {
namespace {

using Bytes = std::vector<unsigned char>;

class FrozenVendorTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const char* path = std::getenv("DIPU_VENDOR_LIBRARY");
    ASSERT_NE(path, nullptr);
    runtime::loadVendor(path);
    ASSERT_EQ(runtime::deviceCount(), 1) << runtime::initializationError();
  }
};

TEST_F(FrozenVendorTest, IsDescribed) {
  EXPECT_STREQ(runtime::vendor().name, "frozen");
  EXPECT_STREQ(runtime::deviceProperties(0).name, "Frozen card");
  EXPECT_EQ(runtime::deviceProperties(0).supported_dtypes, 0u);
  EXPECT_FALSE(runtime::canAccessPeer(0, 0)) << "a slot that it leaves out";
}

TEST_F(FrozenVendorTest, AllocatesFillsAndCopies) {
  constexpr std::size_t kBytes = 100000;
  const c10::DataPtr data = allocator::allocate(kBytes, 0);
  const c10::DataPtr pinned = allocator::hostAllocator().allocate(kBytes);
  dipu_stream* stream = runtime::currentStreamHandle(0);
  runtime::memsetAsync(data.get(), 0, 7, kBytes, stream);
  runtime::copyAsync(pinned.get(), DIPU_HOST, data.get(), 0, kBytes, stream);
  runtime::synchronizeDevice(0);
  const auto* first = static_cast<const unsigned char*>(pinned.get());
  EXPECT_EQ(Bytes(first, first + kBytes), Bytes(kBytes, 7));
  EXPECT_TRUE(allocator::isPinned(pinned.get()));
  EXPECT_FALSE(allocator::isPinned(&stream));
}

TEST_F(FrozenVendorTest, OrdersAndTimesStreams) {
  const c10::Stream stream = runtime::newStream(0, -1);
  c10::Event start(runtime::kDeviceType, c10::EventFlag::BACKEND_DEFAULT);
  c10::Event end(runtime::kDeviceType, c10::EventFlag::BACKEND_DEFAULT);
  start.record(stream);
  end.record(stream);
  end.block(runtime::currentStream(0));
  EXPECT_TRUE(end.query());
  EXPECT_EQ(start.elapsedTime(end), 1);
}

TEST_F(FrozenVendorTest, ErrorsCarryItsCode) {
  EXPECT_EQ(testing::messageOf<c10::Error>(
                [] { runtime::check(runtime::deviceApi().set_current(5), 5); }),
            "frozen:5: this vendor has device 0 only (vendor code 42)");
}

// Runs last: it ends the use of devices.
TEST_F(FrozenVendorTest, ShutsDownWithoutTheSlot) {
  runtime::shutdown();
  EXPECT_FALSE(runtime::isInitialized());
}

}  // namespace
}  // namespace dipu
