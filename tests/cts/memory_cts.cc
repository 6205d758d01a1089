// SPDX-License-Identifier: Apache-2.0
//
// dipu_memory_api.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "tests/cts/fixture.h"

namespace dipu::cts {
namespace {

class Memory : public VendorTest {};
class MemoryPeer : public PeerTest {};

constexpr size_t kSizes[] = {1, 3, 255, 4096, (size_t{1} << 20) + 7};

TEST_F(Memory, AllocationsAreAlignedAndApart) {
  std::vector<uintptr_t> starts;
  std::vector<std::unique_ptr<DeviceBuffer>> buffers;
  for (const size_t bytes : kSizes) {
    buffers.push_back(std::make_unique<DeviceBuffer>(0, bytes));
    const auto start = reinterpret_cast<uintptr_t>(buffers.back()->get());
    EXPECT_EQ(start % 256, 0u);
    starts.push_back(start);
  }
  std::sort(starts.begin(), starts.end());
  EXPECT_EQ(std::adjacent_find(starts.begin(), starts.end()), starts.end());
}

TEST_F(Memory, ReleasingNullIsLegal) {
  memoryApi().deallocate(0, nullptr);
  memoryApi().host_deallocate(nullptr);
}

TEST_F(Memory, BlockingCopiesGoEveryWay) {
  for (const size_t bytes : kSizes) {
    const std::vector<uint8_t> source = pattern(bytes, 1);
    const DeviceBuffer a(0, bytes);
    const DeviceBuffer b(0, bytes);
    ASSERT_TRUE(succeeded(
        memoryApi().copy(a.get(), 0, source.data(), DIPU_HOST, bytes)));
    ASSERT_TRUE(succeeded(memoryApi().copy(b.get(), 0, a.get(), 0, bytes)));
    EXPECT_EQ(readBack(b.get(), 0, bytes), source) << bytes << " bytes";
    std::vector<uint8_t> other(bytes);
    ASSERT_TRUE(succeeded(memoryApi().copy(other.data(), DIPU_HOST,
                                           source.data(), DIPU_HOST, bytes)));
    EXPECT_EQ(other, source);
  }
}

TEST_F(Memory, EnqueuedCopiesGoEveryWay) {
  const Stream stream(0);
  for (const size_t bytes : kSizes) {
    const std::vector<uint8_t> source = pattern(bytes, 2);
    const PinnedBuffer in(bytes);
    const PinnedBuffer out(bytes);
    std::copy(source.begin(), source.end(), in.get());
    const DeviceBuffer a(0, bytes);
    const DeviceBuffer b(0, bytes);
    ASSERT_TRUE(succeeded(memoryApi().copy_async(
        a.get(), 0, in.get(), DIPU_HOST, bytes, stream.get())));
    ASSERT_TRUE(succeeded(
        memoryApi().copy_async(b.get(), 0, a.get(), 0, bytes, stream.get())));
    ASSERT_TRUE(succeeded(memoryApi().copy_async(out.get(), DIPU_HOST, b.get(),
                                                 0, bytes, stream.get())));
    stream.synchronize();
    EXPECT_EQ(std::vector<uint8_t>(out.get(), out.get() + bytes), source)
        << bytes << " bytes";
  }
}

TEST_F(Memory, PageableSourceMayChangeAfterTheCall) {
  const Stream stream(0);
  constexpr size_t kBytes = 1 << 16;
  const DeviceBuffer buffer(0, kBytes);
  std::vector<uint8_t> source = pattern(kBytes, 3);
  const std::vector<uint8_t> expected = source;
  ASSERT_TRUE(succeeded(memoryApi().copy_async(
      buffer.get(), 0, source.data(), DIPU_HOST, kBytes, stream.get())));
  std::fill(source.begin(), source.end(), uint8_t{0});
  stream.synchronize();
  EXPECT_EQ(readBack(buffer.get(), 0, kBytes), expected);
}

TEST_F(Memory, PageableDestinationIsFilledAfterSynchronize) {
  const Stream stream(0);
  constexpr size_t kBytes = 5000;
  const DeviceBuffer buffer(0, kBytes);
  ASSERT_TRUE(succeeded(
      memoryApi().set_async(buffer.get(), 0, 9, kBytes, stream.get())));
  std::vector<uint8_t> out(kBytes);
  ASSERT_TRUE(succeeded(memoryApi().copy_async(
      out.data(), DIPU_HOST, buffer.get(), 0, kBytes, stream.get())));
  stream.synchronize();
  EXPECT_EQ(out, std::vector<uint8_t>(kBytes, 9));
}

TEST_F(Memory, SetUsesTheLowByteAndTheGivenRange) {
  const Stream stream(0);
  const DeviceBuffer buffer(0, 64);
  auto* bytes = static_cast<uint8_t*>(buffer.get());
  ASSERT_TRUE(succeeded(memoryApi().set_async(bytes, 0, 1, 64, stream.get())));
  ASSERT_TRUE(
      succeeded(memoryApi().set_async(bytes + 5, 0, 0x1234, 7, stream.get())));
  stream.synchronize();
  std::vector<uint8_t> expected(64, 1);
  std::fill_n(expected.begin() + 5, 7, uint8_t{0x34});
  EXPECT_EQ(readBack(bytes, 0, 64), expected);
}

TEST_F(Memory, TooLargeAnAllocationFailsCleanly) {
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  ASSERT_TRUE(succeeded(memoryApi().get_info(0, &free_bytes, &total_bytes)));
  EXPECT_LE(free_bytes, total_bytes);
  void* pointer = &pointer;
  EXPECT_TRUE(failedWith(memoryApi().allocate(0, total_bytes * 2, &pointer),
                         DIPU_RESOURCE_EXHAUSTED));
  EXPECT_EQ(pointer, &pointer) << "outputs are untouched on error";
  // The device is as usable as before.
  const DeviceBuffer small(0, 4096);
  const Stream stream(0);
  ASSERT_TRUE(
      succeeded(memoryApi().set_async(small.get(), 0, 4, 4096, stream.get())));
  stream.synchronize();
  EXPECT_EQ(readBack(small.get(), 0, 4096), std::vector<uint8_t>(4096, 4));
}

TEST_F(Memory, AbsurdSizesAreNoMemoryEither) {
  void* pointer = nullptr;
  EXPECT_TRUE(failedWith(memoryApi().allocate(0, SIZE_MAX - 64, &pointer),
                         DIPU_RESOURCE_EXHAUSTED));
}

TEST_F(Memory, InfoFollowsAllocations) {
  constexpr size_t kBytes = size_t{8} << 20;
  size_t before = 0;
  size_t after = 0;
  size_t total_bytes = 0;
  ASSERT_TRUE(succeeded(memoryApi().get_info(0, &before, &total_bytes)));
  if (before < 2 * kBytes) GTEST_SKIP() << "the device is nearly full";
  const DeviceBuffer buffer(0, kBytes);
  ASSERT_TRUE(succeeded(memoryApi().get_info(0, &after, &total_bytes)));
  EXPECT_LT(after, before);
}

TEST_F(Memory, PointersAreRecognised) {
  if (!DIPU_HAS(&memoryApi(), get_pointer_info)) {
    GTEST_SKIP() << "the vendor has no get_pointer_info";
  }
  const auto ask = [](const void* pointer) {
    dipu_pointer_info info{};
    info.struct_size = sizeof(info);
    EXPECT_TRUE(succeeded(memoryApi().get_pointer_info(pointer, &info)));
    return info;
  };
  const DeviceBuffer device(0, 8192);
  auto* inside = static_cast<uint8_t*>(device.get()) + 100;
  const dipu_pointer_info on_device = ask(inside);
  EXPECT_EQ(on_device.kind, DIPU_MEMORY_DEVICE);
  EXPECT_EQ(on_device.device, 0);
  EXPECT_LE(on_device.allocation, static_cast<void*>(inside));
  const PinnedBuffer pinned(4096);
  const dipu_pointer_info on_host = ask(pinned.get() + 1);
  EXPECT_EQ(on_host.kind, DIPU_MEMORY_PINNED);
  EXPECT_EQ(on_host.device, DIPU_HOST);
  int local = 0;
  EXPECT_EQ(ask(&local).kind, DIPU_MEMORY_UNKNOWN);
  EXPECT_EQ(ask(nullptr).kind, DIPU_MEMORY_UNKNOWN);
  EXPECT_EQ(ask(reinterpret_cast<void*>(8)).kind, DIPU_MEMORY_UNKNOWN);
}

TEST_F(Memory, TheHostUsesMemoryInPlaceWhereTheVendorSaysSo) {
  constexpr size_t kBytes = 8192;
  constexpr size_t kOffset = 100;
  const Stream stream(0);
  const DeviceBuffer buffer(0, kBytes);
  const auto* const inside = static_cast<uint8_t*>(buffer.get()) + kOffset;
  dipu_pointer_info info{};
  info.struct_size = sizeof(info);
  if (DIPU_HAS(&memoryApi(), get_pointer_info)) {
    ASSERT_TRUE(succeeded(memoryApi().get_pointer_info(inside, &info)));
  }
  if (info.host_pointer == nullptr) {
    GTEST_SKIP() << "the vendor's memory is out of the host's reach";
  }
  ASSERT_TRUE(succeeded(
      memoryApi().set_async(buffer.get(), 0, 0x5a, kBytes, stream.get())));
  stream.synchronize();
  auto* const host = static_cast<uint8_t*>(info.host_pointer);
  EXPECT_EQ(std::vector<uint8_t>(host, host + kBytes - kOffset),
            std::vector<uint8_t>(kBytes - kOffset, 0x5a));
  const std::vector<uint8_t> written = pattern(kBytes - kOffset, 3);
  std::copy(written.begin(), written.end(), host);
  EXPECT_EQ(readBack(inside, 0, kBytes - kOffset), written);
}

TEST_F(Memory, ExistingMemoryCanBePinned) {
  if (!DIPU_HAS(&memoryApi(), host_register) ||
      !DIPU_HAS(&memoryApi(), get_pointer_info)) {
    GTEST_SKIP() << "the vendor has no host_register";
  }
  std::vector<uint8_t> memory(1 << 16);
  ASSERT_TRUE(
      succeeded(memoryApi().host_register(memory.data(), memory.size())));
  dipu_pointer_info info{};
  info.struct_size = sizeof(info);
  ASSERT_TRUE(succeeded(memoryApi().get_pointer_info(memory.data(), &info)));
  EXPECT_EQ(info.kind, DIPU_MEMORY_PINNED);
  memoryApi().host_unregister(memory.data());
  ASSERT_TRUE(succeeded(memoryApi().get_pointer_info(memory.data(), &info)));
  EXPECT_EQ(info.kind, DIPU_MEMORY_UNKNOWN);
}

TEST_F(Memory, RowsAreCopiedWithTheirPitch) {
  if (!DIPU_HAS(&memoryApi(), copy_2d_async)) {
    GTEST_SKIP() << "the vendor has no copy_2d_async";
  }
  const Stream stream(0);
  const std::vector<uint8_t> source = pattern(6 * 10, 5);
  const DeviceBuffer buffer(0, 6 * 16);
  ASSERT_TRUE(succeeded(memoryApi().copy_2d_async(
      buffer.get(), 16, 0, source.data(), 10, DIPU_HOST, 8, 6, stream.get())));
  stream.synchronize();
  const std::vector<uint8_t> rows = readBack(buffer.get(), 0, 6 * 16);
  for (size_t row = 0; row < 6; ++row) {
    EXPECT_TRUE(std::equal(rows.begin() + row * 16, rows.begin() + row * 16 + 8,
                           source.begin() + row * 10))
        << "row " << row;
  }
}

TEST_F(Memory, ManyThreadsAllocateAndCopy) {
  std::vector<std::thread> threads;
  for (uint8_t seed = 0; seed < 4; ++seed) {
    threads.emplace_back([seed] {
      const Stream stream(0);
      for (size_t bytes = 1000; bytes < 1020; ++bytes) {
        const std::vector<uint8_t> source = pattern(bytes, seed);
        const DeviceBuffer buffer(0, bytes);
        EXPECT_TRUE(succeeded(memoryApi().copy_async(
            buffer.get(), 0, source.data(), DIPU_HOST, bytes, stream.get())));
        stream.synchronize();
        EXPECT_EQ(readBack(buffer.get(), 0, bytes), source);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(MemoryPeer, RowsAreCopiedBetweenDevices) {
  if (!DIPU_HAS(&memoryApi(), copy_2d_async)) {
    GTEST_SKIP() << "the vendor has no copy_2d_async";
  }
  const std::vector<uint8_t> source = pattern(4 * 8, 7);
  const DeviceBuffer a(0, 4 * 8);
  const DeviceBuffer b(1, 4 * 12);
  ASSERT_TRUE(
      succeeded(memoryApi().copy(a.get(), 0, source.data(), DIPU_HOST, 4 * 8)));
  const Stream stream(0);
  ASSERT_TRUE(succeeded(memoryApi().copy_2d_async(b.get(), 12, 1, a.get(), 8, 0,
                                                  8, 4, stream.get())));
  stream.synchronize();
  const std::vector<uint8_t> rows = readBack(b.get(), 1, 4 * 12);
  for (size_t row = 0; row < 4; ++row) {
    EXPECT_TRUE(std::equal(rows.begin() + row * 12, rows.begin() + row * 12 + 8,
                           source.begin() + row * 8))
        << "row " << row;
  }
}

TEST_F(MemoryPeer, CopiesBetweenDevices) {
  constexpr size_t kBytes = 70000;
  const std::vector<uint8_t> source = pattern(kBytes, 6);
  const DeviceBuffer a(0, kBytes);
  const DeviceBuffer b(1, kBytes);
  ASSERT_TRUE(succeeded(
      memoryApi().copy(a.get(), 0, source.data(), DIPU_HOST, kBytes)));
  ASSERT_TRUE(succeeded(memoryApi().copy(b.get(), 1, a.get(), 0, kBytes)));
  EXPECT_EQ(readBack(b.get(), 1, kBytes), source);
}

TEST_F(MemoryPeer, StreamOfACopyMayBelongToEitherDevice) {
  constexpr size_t kBytes = 4096;
  for (const int32_t owner : {0, 1}) {
    const Stream stream(owner);
    const std::vector<uint8_t> source =
        pattern(kBytes, static_cast<uint8_t>(7 + owner));
    const DeviceBuffer a(0, kBytes);
    const DeviceBuffer b(1, kBytes);
    ASSERT_TRUE(succeeded(
        memoryApi().copy(a.get(), 0, source.data(), DIPU_HOST, kBytes)));
    ASSERT_TRUE(succeeded(
        memoryApi().copy_async(b.get(), 1, a.get(), 0, kBytes, stream.get())));
    stream.synchronize();
    EXPECT_EQ(readBack(b.get(), 1, kBytes), source) << "stream of " << owner;
  }
}

}  // namespace
}  // namespace dipu::cts
