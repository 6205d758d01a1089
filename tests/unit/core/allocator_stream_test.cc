// SPDX-License-Identifier: Apache-2.0
//
// The caching device allocator with several streams and threads: memory must
// not be reused while work that was enqueued earlier may still use it.
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <atomic>
#include <cstring>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "core/allocator/device_allocator.h"
#include "core/runtime/memory.h"
#include "tests/unit/core/testing.h"

namespace dipu::allocator {
namespace {

using runtime::kDeviceType;
using testing::CurrentStream;
using testing::StreamHold;

constexpr std::size_t kMiB = 1 << 20;
// One size per pool.
constexpr std::size_t kSizes[] = {1000, 4 * kMiB};

class AllocatorStreamTest : public testing::FakeVendorTest {
 protected:
  void SetUp() override {
    FakeVendorTest::SetUp();
    deviceAllocator().emptyCache({0, 0});
  }
  void TearDown() override { testing::setCapacity(0, std::size_t{1} << 40); }

  static int64_t active() {
    return deviceAllocator().getDeviceStats(0).active[0].current;
  }

  const c10::Stream side_ = runtime::newStream(0, 0);
};

TEST_F(AllocatorStreamTest, BlocksStayWithTheirStream) {
  for (const std::size_t size : kSizes) {
    void* first = allocate(size, 0).get();
    {
      const CurrentStream current(side_);
      EXPECT_NE(allocate(size, 0).get(), first);
    }
    EXPECT_EQ(allocate(size, 0).get(), first);
  }
}

TEST_F(AllocatorStreamTest, RecordStreamPreventsReuseUntilTheWorkIsDone) {
  for (const std::size_t size : kSizes) {
    StreamHold hold(side_);
    c10::DataPtr data = allocate(size, 0);
    void* first = data.get();
    char seen = 0;
    std::memset(first, 5, 1);
    runtime::copyAsync(&seen, DIPU_HOST, first, 0, 1, runtime::handleOf(side_));
    deviceAllocator().recordStream(data, side_);
    data.clear();

    const c10::DataPtr other = allocate(size, 0);
    EXPECT_NE(other.get(), first) << "another stream still reads it";
    std::memset(other.get(), 9, 1);
    hold.letGo();
    EXPECT_EQ(seen, 5);

    EXPECT_EQ(active(), 1) << "polled when statistics are asked for";
    EXPECT_EQ(allocate(size, 0).get(), first) << "reusable after the work";
  }
}

TEST_F(AllocatorStreamTest, EveryRecordedStreamIsWaitedFor) {
  const c10::Stream second_side = runtime::newStream(0, 0);
  StreamHold hold_first(side_);
  StreamHold hold_second(second_side);
  c10::DataPtr data = allocate(1000, 0);
  void* first = data.get();
  deviceAllocator().recordStream(data, side_);
  deviceAllocator().recordStream(data, second_side);
  data.clear();
  hold_first.letGo();
  EXPECT_NE(allocate(1000, 0).get(), first);
  EXPECT_EQ(active(), 1);
  hold_second.letGo();
  EXPECT_EQ(active(), 0);
}

TEST_F(AllocatorStreamTest, StreamsOfOtherDevicesAreWaitedFor) {
  const c10::Stream peer = runtime::newStream(1, 0);
  StreamHold hold(peer);
  c10::DataPtr data = allocate(1000, 0);
  deviceAllocator().recordStream(data, peer);
  data.clear();
  EXPECT_EQ(active(), 1);
  hold.letGo();
  EXPECT_EQ(active(), 0);
}

TEST_F(AllocatorStreamTest, RecordingTheOwnStreamCostsNothing) {
  const int before = testing::calls().record_event;
  c10::DataPtr data = allocate(1000, 0);
  void* first = data.get();
  deviceAllocator().recordStream(data, runtime::currentStream(0));
  data.clear();
  EXPECT_EQ(allocate(1000, 0).get(), first);
  EXPECT_EQ(testing::calls().record_event, before);
}

TEST_F(AllocatorStreamTest, RecordingTwiceRecordsOneEvent) {
  const int before = testing::calls().record_event;
  c10::DataPtr data = allocate(1000, 0);
  deviceAllocator().recordStream(data, side_);
  deviceAllocator().recordStream(data, side_);
  data.clear();
  EXPECT_EQ(testing::calls().record_event, before + 1);
}

TEST_F(AllocatorStreamTest, GuardRecordsOnTheAllocator) {
  const c10::impl::VirtualGuardImpl guard(kDeviceType);
  StreamHold hold(side_);
  c10::DataPtr data = allocate(1000, 0);
  guard.recordDataPtrOnStream(data, side_);
  data.clear();
  EXPECT_EQ(active(), 1);
}

TEST_F(AllocatorStreamTest, WrappedPointersAreFoundByAddress) {
  StreamHold hold(side_);
  {
    c10::DataPtr data = allocate(1000, 0);
    const c10::DataPtr wrapped(data.get(), nullptr, &c10::detail::deleteNothing,
                               data.device());
    deviceAllocator().recordStream(wrapped, side_);
  }
  EXPECT_EQ(active(), 1);
  int local = 0;
  const c10::DataPtr foreign(&local, c10::Device(kDeviceType, 0));
  EXPECT_NO_THROW(deviceAllocator().recordStream(foreign, side_));
  EXPECT_NO_THROW(deviceAllocator().recordStream(allocate(0, 0), side_));
}

// As another thread may, as soon as the vendor has the memory back.
TEST_F(AllocatorStreamTest, ASegmentMayComeBackWhileItIsReleased) {
  void* first = allocate(30 * kMiB, 0).get();
  c10::DataPtr again;
  testing::onNextDeallocate([&] { again = allocate(30 * kMiB, 0); });
  deviceAllocator().emptyCache({0, 0});
  ASSERT_EQ(again.get(), first);

  StreamHold hold(side_);
  const c10::DataPtr wrapped(again.get(), nullptr, &c10::detail::deleteNothing,
                             again.device());
  deviceAllocator().recordStream(wrapped, side_);
  again.clear();
  EXPECT_EQ(active(), 1) << "the heap lost the segment";
}

TEST_F(AllocatorStreamTest, OutOfMemoryWaitsForPendingBlocks) {
  testing::setCapacity(0, 48 * kMiB);
  StreamHold hold(side_);
  c10::DataPtr data = allocate(40 * kMiB, 0);
  void* first = data.get();
  deviceAllocator().recordStream(data, side_);
  data.clear();
  // Synchronising lets the held stream go; without it there is no room.
  const c10::DataPtr next = allocate(40 * kMiB, 0);
  EXPECT_EQ(next.get(), first);
}

// Writes a pattern, yields, and finds it unchanged: two threads never hold
// overlapping blocks.
void churn(unsigned seed, std::atomic<int>& damage) {
  const c10::DeviceIndex device = seed % 2;
  const c10::DeviceGuard guard(c10::Device(kDeviceType, device));
  std::minstd_rand random(seed);
  struct Held {
    c10::DataPtr data;
    std::size_t bytes;
    int pattern;
  };
  std::vector<Held> held;
  for (int i = 0; i < 4000; ++i) {
    if (held.size() < 20 && random() % 2 == 0) {
      const std::size_t bytes = 1 + random() % (random() % 8 ? 5000 : 3 * kMiB);
      const int pattern = static_cast<int>(random() % 256);
      held.push_back({allocate(bytes, device), bytes, pattern});
      std::memset(held.back().data.get(), pattern,
                  std::min<std::size_t>(bytes, 64));
      static_cast<char*>(held.back().data.get())[bytes - 1] =
          static_cast<char>(pattern);
    } else if (!held.empty()) {
      std::swap(held[random() % held.size()], held.back());
      const auto* bytes =
          static_cast<const unsigned char*>(held.back().data.get());
      if (bytes[0] != held.back().pattern ||
          bytes[held.back().bytes - 1] != held.back().pattern) {
        ++damage;
      }
      held.pop_back();
    }
    if (i % 1000 == 999) deviceAllocator().emptyCache({0, 0});
  }
}

TEST_F(AllocatorStreamTest, ThreadsNeverShareABlock) {
  std::atomic<int> damage{0};
  std::vector<std::thread> threads;
  for (unsigned seed = 1; seed <= 4; ++seed) {
    threads.emplace_back([seed, &damage] { churn(seed, damage); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(damage, 0);
  for (c10::DeviceIndex device : {0, 1}) {
    const auto stats = deviceAllocator().getDeviceStats(device);
    EXPECT_EQ(stats.allocation[0].current, 0);
    EXPECT_EQ(stats.allocated_bytes[0].current, 0);
  }
  deviceAllocator().emptyCache({0, 0});
  EXPECT_EQ(testing::liveBytes(0), 0);
  EXPECT_EQ(testing::liveBytes(1), 0);
}

TEST_F(AllocatorStreamTest, BlocksMayBeFreedByAnotherThread) {
  c10::DataPtr data = allocate(1000, 0);
  void* first = data.get();
  std::thread([&] { data.clear(); }).join();
  EXPECT_EQ(allocate(1000, 0).get(), first);
}

}  // namespace
}  // namespace dipu::allocator
