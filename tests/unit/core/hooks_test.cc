// SPDX-License-Identifier: Apache-2.0
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/Storage.h>

#include <cstring>

#include "core/allocator/device_allocator.h"
#include "core/runtime/memory.h"
#include "tests/unit/core/testing.h"

namespace dipu::runtime {
namespace {

using testing::contains;
using testing::CurrentStream;
using testing::messageOf;
using testing::StreamHold;

class HooksTest : public testing::FakeVendorTest {
 protected:
  static c10::Storage storageOf(std::size_t bytes, c10::DeviceIndex device) {
    return c10::Storage(c10::Storage::use_byte_size_t(), bytes,
                        allocator::allocate(bytes, device),
                        &allocator::deviceAllocator(), true);
  }

  const at::PrivateUse1HooksInterface& hooks_ =
      at::detail::getPrivateUse1Hooks();
};

TEST_F(HooksTest, IsRegistered) {
  EXPECT_TRUE(at::isPrivateUse1HooksRegistered());
  EXPECT_TRUE(hooks_.isBuilt());
  EXPECT_EQ(hooks_.deviceCount(), 2);
  EXPECT_NO_THROW(hooks_.init());
}

TEST_F(HooksTest, FindsTheDeviceOfAPointer) {
  const c10::DataPtr data = allocator::allocate(100, 1);
  char* inside = static_cast<char*>(data.get()) + 99;
  EXPECT_EQ(hooks_.getDeviceFromPtr(inside), c10::Device(kDeviceType, 1));
  int local = 0;
  EXPECT_TRUE(contains(messageOf<c10::ValueError>(
                           [&] { (void)hooks_.getDeviceFromPtr(&local); }),
                       "is not in device memory of dipu"));
}

TEST_F(HooksTest, ResizeKeepsContentsAndDevice) {
  const c10::Storage storage = storageOf(4, 1);
  std::memcpy(storage.mutable_data(), "abcd", 4);
  hooks_.resizePrivateUse1Bytes(storage, 8);
  EXPECT_EQ(storage.nbytes(), 8);
  EXPECT_EQ(storage.device().index(), 1);
  EXPECT_EQ(std::memcmp(storage.data(), "abcd", 4), 0);
  hooks_.resizePrivateUse1Bytes(storage, 2);
  EXPECT_EQ(std::memcmp(storage.data(), "ab", 2), 0);
  hooks_.resizePrivateUse1Bytes(storage, 0);
  EXPECT_EQ(storage.data_ptr().get(), nullptr);
  hooks_.resizePrivateUse1Bytes(storage, 16);
  EXPECT_EQ(storage.nbytes(), 16);
  EXPECT_EQ(currentDevice(), 0);
}

TEST_F(HooksTest, ResizeOnAnotherStreamKeepsTheOldMemoryUntilItWasCopied) {
  const c10::Storage storage = storageOf(1000, 0);
  void* old = storage.mutable_data();
  std::memset(old, 3, 1);
  const c10::Stream side = newStream(0, 0);
  StreamHold hold(side);
  {
    const CurrentStream current(side);
    hooks_.resizePrivateUse1Bytes(storage, 2000);
  }
  const c10::DataPtr other = allocator::allocate(1000, 0);
  EXPECT_NE(other.get(), old);
  hold.letGo();
  EXPECT_EQ(static_cast<const char*>(storage.data())[0], 3);
}

TEST_F(HooksTest, ResizeRefusesBorrowedMemory) {
  int local = 0;
  const c10::Storage storage(c10::Storage::use_byte_size_t(), sizeof(local),
                             c10::DataPtr(&local, c10::Device(kDeviceType, 0)),
                             nullptr, false);
  EXPECT_TRUE(
      contains(messageOf([&] { hooks_.resizePrivateUse1Bytes(storage, 8); }),
               "its memory is borrowed"));
}

}  // namespace
}  // namespace dipu::runtime
