// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "softdevice/tests/device_test.h"

namespace dipu::softdevice {
namespace {

using MemoryTest = DeviceTest;
using MemoryDeathTest = DeviceTest;

TEST_F(MemoryDeathTest, HostFaultsOnADevicePointer) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  // The child creates its own device: one does not survive a fork.
  EXPECT_EXIT(
      {
        auto* data = makeArray<int>(0, 4);
        volatile int value = *data;
        std::exit(value == 0 ? 0 : 1);
      },
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
      [](int status) { return status != 0; },  // the sanitizer reports it
#else
      ::testing::KilledBySignal(SIGSEGV),
#endif
      "");
}

TEST_F(MemoryTest, WorkSeesTheMemoryAtAConstantDistance) {
  soft_stream* stream = makeStream(1);
  auto* data = makeArray<int>(1, 1000);
  const soft_address_map* map = soft_stream_address_map(stream);
  EXPECT_EQ(map->device, 1);
  auto* backing =
      static_cast<int*>(soft_translate(stream, data, 1000 * sizeof(int)));
  EXPECT_EQ(
      reinterpret_cast<intptr_t>(backing) - reinterpret_cast<intptr_t>(data),
      map->offset);
  EXPECT_NE(map->offset, soft_stream_address_map(makeStream(0))->offset);
  ASSERT_OK(launch(stream, [backing] { std::fill_n(backing, 1000, 7); }));
  std::vector<int> host(1000);
  ASSERT_OK(soft_memcpy_async(host.data(), data, 4000, stream));
  EXPECT_EQ(host, std::vector<int>(1000, 7));
}

TEST_F(MemoryTest, CapacityIsExactAndRecovers) {
  std::size_t free_bytes = 0;
  std::size_t total = 0;
  ASSERT_OK(soft_memory_info(0, &free_bytes, &total));
  EXPECT_EQ(total, kTestMemory);
  EXPECT_EQ(free_bytes, kTestMemory);
  void* all = nullptr;
  ASSERT_OK(soft_malloc(0, kTestMemory, &all));
  ASSERT_OK(soft_memory_info(0, &free_bytes, &total));
  EXPECT_EQ(free_bytes, 0u);
  void* more = &more;
  void* const before = more;
  EXPECT_SOFT(SOFT_OUT_OF_MEMORY, soft_malloc(0, 1, &more));
  EXPECT_EQ(more, before) << "a failed call leaves its output alone";
  EXPECT_NE(std::string(soft_last_message()).find("device 0"),
            std::string::npos);
  ASSERT_OK(soft_malloc(1, 1, &more)) << "the other device has its own memory";
  ASSERT_OK(soft_free(all));
  EXPECT_SOFT(SOFT_OUT_OF_MEMORY, soft_malloc(0, kTestMemory + 1, &more));
  EXPECT_SOFT(SOFT_OUT_OF_MEMORY, soft_malloc(0, SIZE_MAX, &more));
  ASSERT_OK(soft_malloc(0, kTestMemory, &all));
}

TEST_F(MemoryTest, FreedPagesGoBackToTheMachine) {
  soft_stream* stream = makeStream(0);
  auto* data = makeArray<char>(0, 8 << 20);
  auto* backing = static_cast<char*>(soft_translate(stream, data, 8 << 20));
  ASSERT_OK(soft_memset_async(data, 1, 8 << 20, stream));
  ASSERT_OK(soft_free(data));
  std::vector<unsigned char> resident((8 << 20) / 4096);
  ASSERT_EQ(mincore(backing, 8 << 20, resident.data()), 0);
  EXPECT_EQ(std::count_if(resident.begin(), resident.end(),
                          [](unsigned char page) { return page & 1; }),
            0);
}

TEST_F(MemoryTest, ResetGivesPagesBackToTheMachine) {
  soft_stream* stream = makeStream(0);
  auto* data = makeArray<char>(0, 8 << 20);
  auto* backing = static_cast<char*>(soft_translate(stream, data, 8 << 20));
  ASSERT_OK(soft_memset_async(data, 1, 8 << 20, stream));
  ASSERT_OK(soft_device_reset(0));
  std::vector<unsigned char> resident((8 << 20) / 4096);
  ASSERT_EQ(mincore(backing, 8 << 20, resident.data()), 0);
  EXPECT_EQ(std::count_if(resident.begin(), resident.end(),
                          [](unsigned char page) { return page & 1; }),
            0);
  std::size_t free_bytes = 0;
  std::size_t total = 0;
  ASSERT_OK(soft_memory_info(0, &free_bytes, &total));
  EXPECT_EQ(free_bytes, total);
}

// Addresses lie scattered, but there are more of them than memory.
TEST_F(MemoryTest, HalfTheCapacityFitsBetweenAThousandBlocks) {
  constexpr std::size_t kBlock = std::size_t{64} << 10;
  std::vector<void*> blocks(kTestMemory / kBlock);
  for (void*& block : blocks) ASSERT_OK(soft_malloc(0, kBlock, &block));
  for (std::size_t i = 0; i < blocks.size(); i += 2) {
    ASSERT_OK(soft_free(blocks[i]));
  }
  void* half = nullptr;
  ASSERT_OK(soft_malloc(0, kTestMemory / 2, &half));
  void* more = nullptr;
  EXPECT_SOFT(SOFT_OUT_OF_MEMORY, soft_malloc(0, 1, &more));
  for (std::size_t i = 1; i < blocks.size(); i += 2) {
    ASSERT_OK(soft_free(blocks[i]));
  }
  ASSERT_OK(soft_free(half));
  EXPECT_OK(soft_malloc(0, kTestMemory, &more));
}

TEST_F(MemoryTest, CapacityIsExactUnderThreads) {
  std::atomic<std::size_t> live{0};
  std::atomic<int> refused{0};
  auto work = [&](uint32_t seed) {
    std::mt19937 random(seed);
    std::vector<std::pair<void*, std::size_t>> blocks;
    for (int step = 0; step < 500; ++step) {
      const std::size_t bytes = 512 * (1 + random() % 20000);
      void* ptr = nullptr;
      if (soft_malloc(0, bytes, &ptr) == SOFT_OK) {
        EXPECT_LE(live += bytes, kTestMemory);
        blocks.emplace_back(ptr, bytes);
      } else {
        ++refused;
      }
      if (blocks.size() > 20 || (ptr == nullptr && !blocks.empty())) {
        live -= blocks.back().second;
        EXPECT_OK(soft_free(blocks.back().first));
        blocks.pop_back();
      }
    }
    for (const auto& [ptr, bytes] : blocks) {
      live -= bytes;
      EXPECT_OK(soft_free(ptr));
    }
  };
  std::vector<std::thread> threads;
  for (uint32_t seed = 0; seed < 4; ++seed) threads.emplace_back(work, seed);
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(refused, 0) << "even one thread alone comes to the limit";
  std::size_t free_bytes = 0;
  std::size_t total = 0;
  ASSERT_OK(soft_memory_info(0, &free_bytes, &total));
  EXPECT_EQ(free_bytes, total);
}

TEST_F(MemoryTest, BlocksNeverOverlapAndAreAligned) {
  struct Block {
    uintptr_t start;
    std::size_t bytes;
  };
  std::mt19937 random(7);
  std::vector<Block> blocks;
  for (int step = 0; step < 2000; ++step) {
    if (!blocks.empty() && random() % 2 == 0) {
      std::swap(blocks[random() % blocks.size()], blocks.back());
      ASSERT_OK(soft_free(reinterpret_cast<void*>(blocks.back().start)));
      blocks.pop_back();
    }
    const std::size_t bytes = 1 + random() % (random() % 16 ? 5000 : 3 << 20);
    void* ptr = nullptr;
    const soft_status status = soft_malloc(0, bytes, &ptr);
    if (status == SOFT_OUT_OF_MEMORY) continue;
    ASSERT_OK(status);
    const auto start = reinterpret_cast<uintptr_t>(ptr);
    EXPECT_EQ(start % (bytes >= 2 << 20 ? 2 << 20 : 512), 0u);
    for (const Block& other : blocks) {
      ASSERT_TRUE(start + bytes <= other.start ||
                  other.start + other.bytes <= start);
    }
    blocks.push_back({start, bytes});
  }
  for (const Block& block : blocks) {
    ASSERT_OK(soft_free(reinterpret_cast<void*>(block.start)));
  }
  void* all = nullptr;
  EXPECT_OK(soft_malloc(0, kTestMemory, &all)) << "free blocks were joined";
}

TEST_F(MemoryTest, ZeroBytesGiveNull) {
  void* ptr = &ptr;
  ASSERT_OK(soft_malloc(0, 0, &ptr));
  EXPECT_EQ(ptr, nullptr);
  EXPECT_OK(soft_free(nullptr));
  soft_stream* stream = makeStream(0);
  EXPECT_NE(soft_translate(stream, nullptr, 0), nullptr);
  EXPECT_OK(soft_stream_synchronize(stream));
}

TEST_F(MemoryTest, OnlyTheStartOfABlockIsFreed) {
  auto* data = makeArray<char>(0, 4096);
  int local = 0;
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_free(data + 512));
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_free(&local));
  EXPECT_OK(soft_free(data));
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_free(data));
}

TEST_F(MemoryTest, FreeWaitsForTheDevice) {
  soft_stream* stream = makeStream(0);
  auto* data = makeArray<int>(0, 1);
  auto* backing = static_cast<int*>(soft_translate(stream, data, sizeof(int)));
  static int seen;
  seen = 0;
  for (int i = 0; i < 100; ++i) {
    ASSERT_OK(launch(stream, [backing] { seen += ++*backing > 0 ? 1 : 0; }));
  }
  ASSERT_OK(soft_free(data));
  EXPECT_EQ(seen, 100);
}

TEST_F(MemoryTest, PointersAreRecognised) {
  auto* device_data = makeArray<char>(1, 1000);
  void* pinned = nullptr;
  ASSERT_OK(soft_host_malloc(1000, &pinned));
  std::vector<char> pageable(10000);
  soft_pointer_info info;

  ASSERT_OK(soft_pointer_get_info(device_data + 100, &info));
  EXPECT_EQ(info.kind, SOFT_MEMORY_DEVICE);
  EXPECT_EQ(info.device, 1);
  EXPECT_EQ(info.allocation, device_data);
  EXPECT_EQ(info.bytes, 1024u);
  EXPECT_NE(info.host_pointer, nullptr);

  ASSERT_OK(soft_pointer_get_info(static_cast<char*>(pinned) + 5, &info));
  EXPECT_EQ(info.kind, SOFT_MEMORY_PINNED);
  EXPECT_EQ(info.device, -1);
  EXPECT_EQ(info.allocation, pinned);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(pinned) % 4096, 0u);

  ASSERT_OK(soft_pointer_get_info(pageable.data(), &info));
  EXPECT_EQ(info.kind, SOFT_MEMORY_UNKNOWN);
  ASSERT_OK(soft_host_register(pageable.data(), pageable.size()));
  ASSERT_OK(soft_pointer_get_info(pageable.data() + 9999, &info));
  EXPECT_EQ(info.kind, SOFT_MEMORY_PINNED);
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_host_register(pageable.data() + 1, 10));
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_host_free(pageable.data()));
  EXPECT_OK(soft_host_unregister(pageable.data()));
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_host_unregister(pageable.data()));
  ASSERT_OK(soft_pointer_get_info(pageable.data(), &info));
  EXPECT_EQ(info.kind, SOFT_MEMORY_UNKNOWN);

  EXPECT_OK(soft_host_free(pinned));
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_host_free(pinned));
  ASSERT_OK(soft_free(device_data));
  ASSERT_OK(soft_pointer_get_info(device_data, &info));
  EXPECT_EQ(info.kind, SOFT_MEMORY_UNKNOWN);
}

TEST_F(MemoryTest, OnlyMappedMemoryIsRegistered) {
  const std::size_t page = sysconf(_SC_PAGESIZE);
  void* pages = mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  ASSERT_OK(soft_host_register(pages, 2 * page));
  EXPECT_OK(soft_host_unregister(pages));
  munmap(static_cast<char*>(pages) + page, page);
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_host_register(pages, 2 * page));
  EXPECT_TRUE(lastMessageHas("is not mapped"));
  EXPECT_OK(soft_host_register(pages, page));
  EXPECT_OK(soft_host_unregister(pages));
  munmap(pages, page);
}

TEST_F(MemoryTest, TheHostUsesDeviceMemoryThroughItsOwnPointer) {
  auto* data = makeArray<int>(0, 100);
  soft_stream* stream = makeStream(0);
  soft_pointer_info info{};
  ASSERT_OK(soft_pointer_get_info(data + 30, &info));
  auto* const host = static_cast<int*>(info.host_pointer) - 30;
  ASSERT_OK(soft_memset_async(data, 1, 100 * sizeof(int), stream));
  ASSERT_OK(soft_stream_synchronize(stream));
  EXPECT_EQ(std::count(host, host + 100, 0x01010101), 100);
  host[99] = 7;
  int seen = 0;
  ASSERT_OK(soft_memcpy_async(&seen, data + 99, sizeof(int), stream));
  ASSERT_OK(soft_stream_synchronize(stream));
  EXPECT_EQ(seen, 7);
}

TEST_F(MemoryTest, RegisteredMemoryEndsWithinTheAddressSpace) {
  char byte = 0;
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_host_register(&byte, SIZE_MAX));
  soft_pointer_info info{};
  ASSERT_OK(soft_pointer_get_info(&byte + 1, &info));
  EXPECT_EQ(info.kind, SOFT_MEMORY_UNKNOWN);
}

}  // namespace
}  // namespace dipu::softdevice
