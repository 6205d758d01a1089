// SPDX-License-Identifier: Apache-2.0
//
// Core on a vendor library as it is shipped, DIPU_VENDOR_LIBRARY: memory that
// the host cannot touch and streams that really run beside it.
#include "core/runtime/vendor.h"

#include <c10/core/Event.h>

#include <cstdlib>
#include <cstring>
#include <future>
#include <numeric>
#include <thread>
#include <vector>

#include "core/allocator/device_allocator.h"
#include "core/allocator/host_allocator.h"
#include "core/runtime/device.h"
#include "core/runtime/error.h"
#include "core/runtime/memory.h"
#include "core/runtime/stream.h"
#include "tests/unit/core/testing.h"

namespace dipu {
namespace {

using allocator::allocate;
using allocator::deviceAllocator;
using runtime::kDeviceType;
using testing::contains;
using testing::CurrentStream;
using testing::messageOf;

using Bytes = std::vector<unsigned char>;

Bytes pattern(std::size_t size, int seed) {
  Bytes bytes(size);
  std::iota(bytes.begin(), bytes.end(), static_cast<unsigned char>(seed));
  return bytes;
}

Bytes readBack(const c10::DataPtr& data, std::size_t size) {
  Bytes bytes(size);
  runtime::copy(bytes.data(), DIPU_HOST, data.get(), data.device().index(),
                size);
  return bytes;
}

c10::DataPtr upload(const Bytes& bytes, c10::DeviceIndex device) {
  c10::DataPtr data = allocate(bytes.size(), device);
  runtime::copy(data.get(), device, bytes.data(), DIPU_HOST, bytes.size());
  return data;
}

// Keeps a stream busy until it is let go.
class Blocker {
 public:
  explicit Blocker(const c10::Stream& stream) : done_(gate_.get_future()) {
    runtime::check(runtime::streamApi().launch_host_func(
        runtime::handleOf(stream),
        [](void* self) { static_cast<Blocker*>(self)->done_.wait(); }, this));
  }
  ~Blocker() { letGo(); }
  void letGo() {
    if (!std::exchange(open_, true)) gate_.set_value();
  }

 private:
  std::promise<void> gate_;
  std::future<void> done_;
  bool open_ = false;
};

class VendorTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const char* path = std::getenv("DIPU_VENDOR_LIBRARY");
    ASSERT_NE(path, nullptr);
    runtime::loadVendor(path);
    ASSERT_GE(runtime::deviceCount(), 2) << runtime::initializationError();
  }
  void SetUp() override { runtime::setDevice(0); }
};

TEST_F(VendorTest, LoadingAgainIsHarmless) {
  EXPECT_NO_THROW(runtime::loadVendor(std::getenv("DIPU_VENDOR_LIBRARY")));
  EXPECT_STRNE(runtime::deviceProperties(1).name, "");
}

TEST_F(VendorTest, MemoryGoesThereAndBack) {
  for (const std::size_t size : {1ul, 511ul, 4097ul, 5000001ul}) {
    const Bytes bytes = pattern(size, 3);
    EXPECT_EQ(readBack(upload(bytes, 1), size), bytes);
  }
}

TEST_F(VendorTest, PinnedCopiesRunInStreamOrder) {
  constexpr std::size_t kSize = 1 << 20;
  c10::DataPtr pinned = allocator::hostAllocator().allocate(kSize);
  const c10::DataPtr data = allocate(kSize, 0);
  dipu_stream* stream = runtime::currentStreamHandle(0);
  runtime::memsetAsync(data.get(), 0, 7, kSize, stream);
  runtime::copyAsync(pinned.get(), DIPU_HOST, data.get(), 0, kSize, stream);
  runtime::synchronizeStream(runtime::currentStream(0));
  EXPECT_EQ(std::memcmp(pinned.get(), Bytes(kSize, 7).data(), kSize), 0);
}

TEST_F(VendorTest, DevicesCopyToEachOther) {
  const Bytes bytes = pattern(100000, 9);
  const c10::DataPtr from = upload(bytes, 0);
  const c10::DataPtr to = allocate(bytes.size(), 1);
  runtime::copyBetweenDevices(to.get(), 1, from.get(), 0, bytes.size());
  EXPECT_EQ(readBack(to, bytes.size()), bytes);
}

TEST_F(VendorTest, EventsOrderAndTimeStreams) {
  const c10::Stream producer = runtime::newStream(0, 0);
  const c10::Stream consumer = runtime::newStream(1, 0);
  c10::Event start(kDeviceType, c10::EventFlag::BACKEND_DEFAULT);
  c10::Event end(kDeviceType, c10::EventFlag::BACKEND_DEFAULT);
  Blocker blocker(producer);
  start.record(producer);
  end.record(producer);
  end.block(consumer);
  c10::Event reached(kDeviceType);
  reached.record(consumer);
  EXPECT_FALSE(end.query());
  EXPECT_FALSE(reached.query());
  EXPECT_FALSE(runtime::queryStream(producer));
  blocker.letGo();
  reached.synchronize();
  EXPECT_TRUE(end.query());
  EXPECT_GE(start.elapsedTime(end), 0);
}

TEST_F(VendorTest, RecordStreamPreventsReuseUntilTheWorkIsDone) {
  const c10::Stream side = runtime::newStream(0, 0);
  Blocker blocker(side);
  c10::DataPtr data = allocate(1000, 0);
  void* first = data.get();
  deviceAllocator().recordStream(data, side);
  data.clear();
  EXPECT_NE(allocate(1000, 0).get(), first);
  EXPECT_EQ(deviceAllocator().getDeviceStats(0).active[0].current, 1);
  blocker.letGo();
  runtime::synchronizeStream(side);
  EXPECT_EQ(deviceAllocator().getDeviceStats(0).active[0].current, 0);
}

TEST_F(VendorTest, OutOfMemoryIsCleanAndTheDeviceGoesOn) {
  const auto [free, total] = deviceAllocator().getMemoryInfo(0);
  EXPECT_LE(free, total);
  const std::size_t too_much = total + 1;
  const std::string text =
      messageOf<c10::OutOfMemoryError>([&] { allocate(too_much, 0); });
  EXPECT_TRUE(contains(text, runtime::deviceLabel(0) + ") out of memory"))
      << text;
  const Bytes bytes = pattern(1000, 1);
  EXPECT_EQ(readBack(upload(bytes, 0), bytes.size()), bytes);
}

TEST_F(VendorTest, EmptyCacheReturnsMemory) {
  const std::size_t before = deviceAllocator().getMemoryInfo(0).first;
  {
    const c10::DataPtr data = allocate(64 << 20, 0);
  }
  deviceAllocator().emptyCache({0, 0});
  EXPECT_EQ(deviceAllocator().getDeviceStats(0).reserved_bytes[0].current, 0);
  EXPECT_GE(deviceAllocator().getMemoryInfo(0).first + (64 << 20), before);
}

TEST_F(VendorTest, ThreadsWorkOnTheirOwnStreams) {
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([i, &wrong] {
      const auto device = static_cast<c10::DeviceIndex>(i % 2);
      runtime::setDevice(device);
      const CurrentStream current(runtime::streamFromPool(device, false));
      for (int round = 0; round < 50; ++round) {
        const Bytes bytes = pattern(1 + 997 * round, i + round);
        if (readBack(upload(bytes, device), bytes.size()) != bytes) ++wrong[i];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4));
}

// Runs last: it ends the use of devices.
TEST_F(VendorTest, ShutdownFinishesTheWork) {
  constexpr std::size_t kSize = 8 << 20;
  c10::DataPtr pinned = allocator::hostAllocator().allocate(kSize);
  const c10::DataPtr data = allocate(kSize, 0);
  dipu_stream* stream = runtime::currentStreamHandle(0);
  runtime::memsetAsync(data.get(), 0, 5, kSize, stream);
  runtime::copyAsync(pinned.get(), DIPU_HOST, data.get(), 0, kSize, stream);
  runtime::shutdown();
  EXPECT_EQ(std::memcmp(pinned.get(), Bytes(kSize, 5).data(), kSize), 0);
}

}  // namespace
}  // namespace dipu
