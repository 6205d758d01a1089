// SPDX-License-Identifier: Apache-2.0
//
// What the caching device allocator hands out, keeps, splits and gives back.
#include <c10/core/AllocatorConfig.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <limits>
#include <memory>
#include <vector>

#include "core/allocator/device_allocator.h"
#include "tests/unit/core/testing.h"

namespace dipu::allocator {
namespace {

using runtime::kDeviceType;
using testing::contains;
using testing::messageOf;

constexpr std::size_t kKiB = 1024;
constexpr std::size_t kMiB = 1024 * kKiB;

class AllocatorTest : public testing::FakeVendorTest {
 protected:
  void SetUp() override {
    FakeVendorTest::SetUp();
    deviceAllocator().emptyCache({0, 0});
    deviceAllocator().resetAccumulatedStats(0);
    deviceAllocator().resetPeakStats(0);
    ASSERT_EQ(testing::liveBytes(0), 0) << "an earlier test leaked";
  }
  void TearDown() override {
    testing::setCapacity(0, std::size_t{1} << 40);
    c10::CachingAllocator::setAllocatorSettings("");
  }

  static auto stats() { return deviceAllocator().getDeviceStats(0); }
};

TEST_F(AllocatorTest, IsTorchsAllocator) {
  EXPECT_EQ(c10::GetAllocator(kDeviceType), &deviceAllocator());
  EXPECT_EQ(c10::getDeviceAllocator(kDeviceType), &deviceAllocator());
  EXPECT_TRUE(deviceAllocator().initialized());
  EXPECT_EQ(deviceAllocator().raw_deleter(), nullptr);
}

TEST_F(AllocatorTest, ZeroBytesAreNullOnTheRightDevice) {
  const c10::DataPtr data = allocate(0, 1);
  EXPECT_EQ(data.get(), nullptr);
  EXPECT_EQ(data.device(), c10::Device(kDeviceType, 1));
  EXPECT_EQ(testing::liveBytes(1), 0);
}

TEST_F(AllocatorTest, FollowsTheCurrentDevice) {
  runtime::setDevice(1);
  const c10::DataPtr data = deviceAllocator().allocate(100);
  EXPECT_EQ(data.device().index(), 1);
  EXPECT_GT(testing::liveBytes(1), 0);
  EXPECT_EQ(testing::liveBytes(0), 0);
}

TEST_F(AllocatorTest, ReusesTheBlockFreedLast) {
  void* first = allocate(1000, 0).get();
  const int before = testing::calls().allocate;
  EXPECT_EQ(allocate(900, 0).get(), first) << "both round to 1024";
  EXPECT_EQ(testing::calls().allocate, before);
}

TEST_F(AllocatorTest, SmallBlocksShareASegment) {
  std::vector<c10::DataPtr> blocks;
  for (int i = 0; i < 2048; ++i) blocks.push_back(allocate(kKiB, 0));
  EXPECT_EQ(testing::liveBytes(0), 2 * kMiB);
  for (int i = 1; i < 2048; ++i) {
    EXPECT_EQ(static_cast<char*>(blocks[i].get()),
              static_cast<char*>(blocks[i - 1].get()) + kKiB);
  }
  blocks.push_back(allocate(1, 0));
  EXPECT_EQ(testing::liveBytes(0), 4 * kMiB);
}

TEST_F(AllocatorTest, MergesFreedNeighbours) {
  {
    std::vector<c10::DataPtr> blocks;
    for (int i = 0; i < 4; ++i) blocks.push_back(allocate(512 * kKiB, 0));
    EXPECT_EQ(testing::liveBytes(0), 2 * kMiB);
  }
  const c10::DataPtr one = allocate(kMiB, 0);
  const c10::DataPtr two = allocate(kMiB, 0);
  EXPECT_EQ(testing::liveBytes(0), 2 * kMiB);
}

TEST_F(AllocatorTest, SegmentSizes) {
  {
    const c10::DataPtr data = allocate(2 * kMiB, 0);
  }
  EXPECT_EQ(testing::liveBytes(0), 20 * kMiB);
  const c10::DataPtr data = allocate(25 * kMiB + 1, 0);
  EXPECT_EQ(testing::liveBytes(0), 20 * kMiB + 26 * kMiB);
}

TEST_F(AllocatorTest, LargeBlocksAreSplitAndMerged) {
  {
    const c10::DataPtr first = allocate(8 * kMiB, 0);
    const c10::DataPtr second = allocate(8 * kMiB, 0);
    EXPECT_EQ(stats().inactive_split_bytes[0].current, 4 * kMiB);
    EXPECT_EQ(static_cast<char*>(second.get()),
              static_cast<char*>(first.get()) + 8 * kMiB);
  }
  EXPECT_EQ(stats().inactive_split_bytes[0].current, 0);
  const c10::DataPtr whole = allocate(20 * kMiB, 0);
  EXPECT_EQ(testing::liveBytes(0), 20 * kMiB);
}

TEST_F(AllocatorTest, TakesTheBestFit) {
  void* large = nullptr;
  void* fitting = nullptr;
  {
    const c10::DataPtr a = allocate(40 * kMiB, 0);
    const c10::DataPtr b = allocate(30 * kMiB, 0);
    large = a.get();
    fitting = b.get();
  }
  const c10::DataPtr data = allocate(30 * kMiB, 0);
  EXPECT_EQ(data.get(), fitting);
  EXPECT_NE(data.get(), large);
}

TEST_F(AllocatorTest, EmptyCacheWaitsAndGivesBack) {
  const c10::DataPtr kept = allocate(kKiB, 0);
  {
    const c10::DataPtr freed = allocate(30 * kMiB, 0);
  }
  const int before = testing::calls().synchronize_device;
  deviceAllocator().emptyCache({0, 0});
  EXPECT_EQ(testing::liveBytes(0), 2 * kMiB) << "the segment in use stays";
  EXPECT_EQ(testing::calls().synchronize_device, before + 1);
  EXPECT_EQ(stats().reserved_bytes[0].current, 2 * kMiB);
}

TEST_F(AllocatorTest, EmptyCacheKeepsMemoryThatFailedWorkMayUse) {
  {
    const c10::DataPtr freed = allocate(30 * kMiB, 0);
  }
  testing::failEnqueuedWork("kernel mm failed");
  EXPECT_TRUE(contains(messageOf([] { deviceAllocator().emptyCache({0, 0}); }),
                       "kernel mm failed"));
  EXPECT_EQ(testing::liveBytes(0), 30 * kMiB);
  const c10::DataPtr again = allocate(30 * kMiB, 0);
  EXPECT_EQ(testing::liveBytes(0), 30 * kMiB) << "still cached";
}

TEST_F(AllocatorTest, OutOfMemoryFreesTheCacheAndRetries) {
  testing::setCapacity(0, 64 * kMiB);
  {
    const c10::DataPtr cached = allocate(40 * kMiB, 0);
  }
  const c10::DataPtr data = allocate(60 * kMiB, 0);
  EXPECT_EQ(testing::liveBytes(0), 60 * kMiB);
  EXPECT_EQ(stats().num_alloc_retries, 1);
  EXPECT_EQ(stats().num_ooms, 0);
}

TEST_F(AllocatorTest, OutOfMemorySaysHowMuchAndWhatToDo) {
  testing::setCapacity(0, 64 * kMiB);
  const c10::DataPtr used = allocate(40 * kMiB, 0);
  const std::string text =
      messageOf<c10::OutOfMemoryError>([] { allocate(30 * kMiB + 1, 0); });
  EXPECT_TRUE(contains(text,
                       "dipu (fake:0) out of memory: tried to allocate 30.00 "
                       "MiB; capacity 64.00 MiB, free 24.00 MiB, allocated "
                       "40.00 MiB, reserved 40.00 MiB"))
      << text;
  EXPECT_TRUE(contains(text, "smaller batch")) << text;
  EXPECT_TRUE(contains(text, "bytes do not fit)")) << text;  // the vendor's
  EXPECT_EQ(stats().num_ooms, 1);
  EXPECT_NO_THROW(allocate(20 * kMiB, 0)) << "the device still works";
}

TEST_F(AllocatorTest, AbsurdSizesAreOutOfMemory) {
  EXPECT_THROW(allocate(std::numeric_limits<std::size_t>::max(), 0),
               c10::OutOfMemoryError);
  EXPECT_THROW(allocate(std::numeric_limits<std::size_t>::max() / 2, 0),
               c10::OutOfMemoryError);
}

TEST_F(AllocatorTest, OtherVendorFailuresAreNotOutOfMemory) {
  testing::failNextAllocate(DIPU_UNAVAILABLE);
  const std::string text =
      messageOf<c10::AcceleratorError>([] { allocate(kKiB, 0); });
  EXPECT_TRUE(contains(text, "fake:0: asked to fail (vendor code 9)")) << text;
  EXPECT_EQ(stats().num_ooms, 0);
}

TEST_F(AllocatorTest, Statistics) {
  c10::DataPtr small = allocate(1000, 0);
  c10::DataPtr large = allocate(3 * kMiB, 0);
  auto s = stats();
  EXPECT_EQ(s.allocation[0].current, 2);
  EXPECT_EQ(s.allocation[1].current, 1);
  EXPECT_EQ(s.allocation[2].current, 1);
  EXPECT_EQ(s.allocated_bytes[1].current, 1024);
  EXPECT_EQ(s.requested_bytes[1].current, 1000);
  EXPECT_EQ(s.segment[0].current, 2);
  EXPECT_EQ(s.reserved_bytes[0].current, 22 * kMiB);
  EXPECT_EQ(s.active_bytes[0].current, 1024 + 3 * kMiB);
  EXPECT_EQ(s.inactive_split[0].current, 2);
  EXPECT_EQ(s.num_device_alloc, 2);

  small.clear();
  large.clear();
  s = stats();
  EXPECT_EQ(s.allocation[0].current, 0);
  EXPECT_EQ(s.allocation[0].peak, 2);
  EXPECT_EQ(s.allocation[0].allocated, 2);
  EXPECT_EQ(s.allocation[0].freed, 2);
  EXPECT_EQ(s.allocated_bytes[0].current, 0);
  EXPECT_EQ(s.requested_bytes[0].current, 0);
  EXPECT_EQ(s.active[0].current, 0);
  EXPECT_EQ(s.inactive_split[0].current, 0);
  EXPECT_EQ(s.reserved_bytes[0].current, 22 * kMiB);

  deviceAllocator().resetPeakStats(0);
  deviceAllocator().resetAccumulatedStats(0);
  s = stats();
  EXPECT_EQ(s.allocation[0].peak, 0);
  EXPECT_EQ(s.allocation[0].allocated, 0);
  EXPECT_EQ(s.reserved_bytes[0].peak, 22 * kMiB);
}

TEST_F(AllocatorTest, RefusesStatisticsOfAnInvalidDevice) {
  EXPECT_EQ(messageOf([] { deviceAllocator().getDeviceStats(9); }),
            "invalid device index 9: dipu has 2 devices");
  EXPECT_THROW(deviceAllocator().getMemoryInfo(-1), c10::Error);
}

TEST_F(AllocatorTest, MemoryInfoComesFromTheVendor) {
  testing::setCapacity(0, 64 * kMiB);
  const c10::DataPtr data = allocate(30 * kMiB, 0);
  const auto [free, total] = deviceAllocator().getMemoryInfo(0);
  EXPECT_EQ(free, 34 * kMiB);
  EXPECT_EQ(total, 64 * kMiB);
}

TEST_F(AllocatorTest, FindsTheAllocationAroundAPointer) {
  const c10::DataPtr first = allocate(kKiB, 0);
  const c10::DataPtr second = allocate(kKiB, 0);
  const auto found = findAllocation(static_cast<char*>(second.get()) + 1023);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->base, second.get());
  EXPECT_EQ(found->bytes, kKiB);
  EXPECT_EQ(found->device, 0);
  EXPECT_FALSE(findAllocation(static_cast<char*>(second.get()) + 1024));
  int local = 0;
  EXPECT_FALSE(findAllocation(&local).has_value());
}

TEST_F(AllocatorTest, RawMemory) {
  void* ptr = rawAllocate(kKiB, 0);
  EXPECT_EQ(stats().allocation[0].current, 1);
  rawDeallocate(ptr);
  rawDeallocate(nullptr);
  EXPECT_EQ(stats().allocation[0].current, 0);
  EXPECT_EQ(rawAllocate(0, 0), nullptr);
}

TEST_F(AllocatorTest, CloneCopiesOnTheDevice) {
  const c10::DataPtr data = allocate(4, 0);
  static_cast<char*>(data.get())[3] = 42;
  const c10::DataPtr copy = deviceAllocator().clone(data.get(), 4);
  EXPECT_NE(copy.get(), data.get());
  EXPECT_EQ(static_cast<char*>(copy.get())[3], 42);
  int local = 0;
  EXPECT_TRUE(contains(
      messageOf([&] { deviceAllocator().copy_data(copy.get(), &local, 4); }),
      "is not in memory of dipu"));
}

// What the profiler installs to learn about memory.
struct Listener final : c10::MemoryReportingInfoBase {
  void reportMemoryUsage(void* ptr, int64_t size, size_t total_allocated,
                         size_t total_reserved, c10::Device device) override {
    EXPECT_NE(ptr, nullptr);
    EXPECT_EQ(device, c10::Device(kDeviceType, 0));
    sizes.push_back(size);
    allocated = total_allocated;
    reserved = total_reserved;
  }
  bool memoryProfilingEnabled() const override { return true; }

  std::vector<int64_t> sizes;
  std::size_t allocated = 0;
  std::size_t reserved = 0;
};

TEST_F(AllocatorTest, ReportsToTheProfiler) {
  const auto listener = std::make_shared<Listener>();
  {
    const c10::DebugInfoGuard guard(c10::DebugInfoKind::PROFILER_STATE,
                                    listener);
    const c10::DataPtr data = allocate(1000, 0);
    EXPECT_EQ(listener->allocated, 1024);
    EXPECT_EQ(listener->reserved, 2 * kMiB);
  }
  const c10::DataPtr unseen = allocate(1000, 0);
  EXPECT_EQ(listener->sizes, std::vector<int64_t>({1024, -1024}));
}

TEST_F(AllocatorTest, MaxSplitSizeKeepsLargeBlocksWhole) {
  c10::CachingAllocator::setAllocatorSettings("max_split_size_mb:32");
  {
    const c10::DataPtr large = allocate(64 * kMiB, 0);
  }
  const c10::DataPtr small = allocate(4 * kMiB, 0);
  EXPECT_EQ(testing::liveBytes(0), 64 * kMiB + 20 * kMiB)
      << "the large block must not serve a request far below it";
  const c10::DataPtr again = allocate(62 * kMiB, 0);
  EXPECT_EQ(testing::liveBytes(0), 84 * kMiB) << "but one of about its size";
  EXPECT_EQ(stats().max_split_size, 32 * kMiB);
  EXPECT_EQ(stats().oversize_allocations.current, 1);
}

TEST_F(AllocatorTest, RoundupDivisions) {
  c10::CachingAllocator::setAllocatorSettings("roundup_power2_divisions:4");
  const c10::DataPtr data = allocate(33 * kMiB, 0);
  EXPECT_EQ(stats().allocated_bytes[0].current, 40 * kMiB);
}

}  // namespace
}  // namespace dipu::allocator
