// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/memory.h"

#include <vector>

#include "tests/unit/core/testing.h"

namespace dipu::runtime {
namespace {

using testing::CurrentStream;
using testing::StreamHold;

using MemoryTest = testing::FakeVendorTest;

TEST_F(MemoryTest, CopyBlocksUntilDone) {
  const char src = 3;
  char dst = 0;
  StreamHold hold(currentStream(0));
  copy(&dst, 0, &src, DIPU_HOST, 1);
  EXPECT_EQ(dst, 3);
}

TEST_F(MemoryTest, CopyRunsAfterTheCurrentStreamsWork) {
  char device = 0;
  char host = 0;
  const c10::Stream stream = newStream(0, 0);
  const CurrentStream current(stream);
  StreamHold hold(stream);
  memsetAsync(&device, 0, 9, 1, handleOf(stream));
  copy(&host, DIPU_HOST, &device, 0, 1);
  EXPECT_EQ(host, 9);
}

TEST_F(MemoryTest, CopyOnTheHostNeedsNoDevice) {
  const int before = testing::calls().synchronize_device;
  const int src = 4;
  int dst = 0;
  copy(&dst, DIPU_HOST, &src, DIPU_HOST, sizeof(src));
  EXPECT_EQ(dst, 4);
  EXPECT_EQ(testing::calls().synchronize_device, before);
}

TEST_F(MemoryTest, ZeroBytesAreANoOp) {
  EXPECT_NO_THROW(copy(nullptr, 0, nullptr, DIPU_HOST, 0));
  EXPECT_NO_THROW(memsetAsync(nullptr, 0, 0, 0, nullptr));
  EXPECT_NO_THROW(copyBetweenDevices(nullptr, 0, nullptr, 1, 0));
}

TEST_F(MemoryTest, TheHostHasNoPointerUnlessTheVendorGivesOne) {
  const char device = 0;
  EXPECT_EQ(hostPointer(&device, 0), nullptr);
}

TEST_F(MemoryTest, CopyBetweenDevicesWaitsForTheDestination) {
  char src = 1;
  char dst = 0;
  char read = 0;
  const StreamHold hold(currentStream(1));
  // Still to be read by device 1 when the copy is asked for.
  copyAsync(&read, 1, &dst, 1, 1, currentStreamHandle(1));
  copyBetweenDevices(&dst, 1, &src, 0, 1);
  EXPECT_EQ(dst, 0) << "overwritten before its reader ran";
  EXPECT_FALSE(queryStream(currentStream(0)));
}

TEST_F(MemoryTest, CopyBetweenDevicesHoldsTheDestinationsLaterWork) {
  char src = 1;
  char dst = 0;
  char read = 0;
  StreamHold hold(currentStream(0));
  copyBetweenDevices(&dst, 1, &src, 0, 1);
  copyAsync(&read, 1, &dst, 1, 1, currentStreamHandle(1));
  EXPECT_FALSE(queryStream(currentStream(1)));
  hold.letGo();
  EXPECT_EQ(read, 1);
}

TEST_F(MemoryTest, PeerAccessIsEnabledOnce) {
  char src = 1;
  char dst = 0;
  copyBetweenDevices(&dst, 1, &src, 0, 1);
  copyBetweenDevices(&dst, 1, &src, 0, 1);
  EXPECT_EQ(testing::calls().enable_peer_access, 1);
}

TEST_F(MemoryTest, DevicesThatCannotReachEachOtherCopyThroughTheHost) {
  ASSERT_FALSE(canAccessPeer(1, 0));
  constexpr std::size_t kBytes = (std::size_t{40} << 20) + 1;
  std::vector<char> src(kBytes, 6);
  src.back() = 7;
  std::vector<char> dst(kBytes);
  StreamHold hold(currentStream(0));
  char late = 0;
  copyAsync(&late, 0, &dst[0], 0, 1, currentStreamHandle(0));
  const int events = testing::calls().record_event;
  copyBetweenDevices(dst.data(), 0, src.data(), 1, kBytes);
  synchronizeStream(currentStream(0));
  EXPECT_EQ(dst, src);
  EXPECT_EQ(late, 0) << "enqueued before the copy";
  EXPECT_EQ(testing::calls().record_event, events);
}

}  // namespace
}  // namespace dipu::runtime
