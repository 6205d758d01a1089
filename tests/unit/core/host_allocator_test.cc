// SPDX-License-Identifier: Apache-2.0
#include "core/allocator/host_allocator.h"

#include <ATen/detail/PrivateUse1HooksInterface.h>

#include <cstring>

#include "core/allocator/device_allocator.h"
#include "core/runtime/memory.h"
#include "tests/unit/core/testing.h"

namespace dipu::allocator {
namespace {

using testing::StreamHold;

class HostAllocatorTest : public testing::FakeVendorTest {
 protected:
  void SetUp() override {
    FakeVendorTest::SetUp();
    hostAllocator().empty_cache();
  }
};

TEST_F(HostAllocatorTest, IsTorchs) {
  EXPECT_EQ(at::getHostAllocator(runtime::kDeviceType), &hostAllocator());
  EXPECT_EQ(at::detail::getPrivateUse1Hooks().getPinnedMemoryAllocator(),
            &hostAllocator());
}

TEST_F(HostAllocatorTest, KnowsItsMemory) {
  const c10::DataPtr data = hostAllocator().allocate(1000);
  EXPECT_TRUE(data.device().is_cpu());
  EXPECT_TRUE(isPinned(data.get()));
  EXPECT_TRUE(isPinned(static_cast<char*>(data.get()) + 999));
  EXPECT_TRUE(at::detail::getPrivateUse1Hooks().isPinnedPtr(data.get()));
  int local = 0;
  EXPECT_FALSE(isPinned(&local));
  EXPECT_FALSE(isPinned(nullptr));
}

TEST_F(HostAllocatorTest, AsksTheVendorForOtherMemory) {
  void* ptr = nullptr;
  ASSERT_EQ(runtime::memoryApi().host_allocate(64, &ptr), nullptr);
  EXPECT_TRUE(isPinned(ptr));
  runtime::memoryApi().host_deallocate(ptr);
}

TEST_F(HostAllocatorTest, CachesFreedMemory) {
  void* first = hostAllocator().allocate(1000).get();
  const int before = testing::calls().host_allocate;
  EXPECT_EQ(hostAllocator().allocate(1000).get(), first);
  EXPECT_EQ(testing::calls().host_allocate, before);
}

// Fails, by running out of the stack, when the backend calls its own `free`.
TEST_F(HostAllocatorTest, EmptyCacheGivesMemoryBack) {
  void* ptr = hostAllocator().allocate(1000).get();
  EXPECT_TRUE(isPinned(ptr)) << "cached";
  hostAllocator().empty_cache();
  EXPECT_FALSE(isPinned(ptr));
}

TEST_F(HostAllocatorTest, MemoryIsNotReusedWhileACopyReadsIt) {
  const c10::Stream stream = runtime::newStream(0, 0);
  StreamHold hold(stream);
  char device = 0;
  c10::DataPtr data = hostAllocator().allocate(1000);
  void* first = data.get();
  std::memset(first, 5, 1);
  runtime::copyAsync(&device, 0, first, DIPU_HOST, 1,
                     runtime::handleOf(stream));
  EXPECT_TRUE(hostAllocator().record_event(first, data.get_context(), stream));
  data.clear();

  const c10::DataPtr other = hostAllocator().allocate(1000);
  EXPECT_NE(other.get(), first);
  hold.letGo();
  EXPECT_EQ(device, 5);
  EXPECT_EQ(hostAllocator().allocate(1000).get(), first);
}

}  // namespace
}  // namespace dipu::allocator
