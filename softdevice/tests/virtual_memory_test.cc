// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "softdevice/soft_ipc.h"
#include "softdevice/soft_virtual_memory.h"
#include "softdevice/tests/device_test.h"

namespace dipu::softdevice {
namespace {

constexpr std::size_t kPart = std::size_t{2} << 20;

class VirtualMemoryTest : public DeviceTest {
 protected:
  static char* reserve(std::size_t parts, int32_t device = 0) {
    void* ptr = nullptr;
    EXPECT_OK(soft_vm_reserve(device, parts * kPart, 0, nullptr, &ptr));
    return static_cast<char*>(ptr);
  }
  static soft_vm_memory create(std::size_t parts, int32_t device = 0) {
    soft_vm_memory memory = 0;
    EXPECT_OK(soft_vm_create(device, parts * kPart, &memory));
    return memory;
  }
  static void allow(char* ptr, std::size_t parts, int32_t device = 0) {
    EXPECT_OK(soft_vm_set_access(ptr, parts * kPart, device,
                                 SOFT_VM_ACCESS_READ_WRITE));
  }
  // Addresses of device 0 with memory that device 0 may use.
  static char* makeMapped(std::size_t parts) {
    char* ptr = reserve(parts);
    const soft_vm_memory memory = create(parts);
    EXPECT_OK(soft_vm_map(ptr, parts * kPart, memory, 0));
    EXPECT_OK(soft_vm_destroy(memory));
    allow(ptr, parts);
    return ptr;
  }
  static std::size_t usedBytes(int32_t device = 0) {
    std::size_t free_bytes = 0;
    std::size_t total = 0;
    EXPECT_OK(soft_memory_info(device, &free_bytes, &total));
    return total - free_bytes;
  }
  static int readInt(const void* ptr) {
    int value = 0;
    EXPECT_OK(soft_memcpy(&value, ptr, sizeof(value)));
    return value;
  }
  static void writeInt(void* ptr, int value) {
    EXPECT_OK(soft_memcpy(ptr, &value, sizeof(value)));
  }
  // The refusal arrives in the stream and makes the device's error sticky.
  static void expectIllegal(int32_t device, const void* ptr,
                            std::size_t bytes) {
    soft_stream* stream = makeStream(device);
    EXPECT_EQ(soft_translate(stream, ptr, bytes), nullptr);
    EXPECT_SOFT(SOFT_ILLEGAL_ADDRESS, soft_stream_synchronize(stream));
    EXPECT_NE(std::string(soft_last_message()).find("reserved addresses"),
              std::string::npos)
        << soft_last_message();
  }
};

TEST_F(VirtualMemoryTest, KernelsAndCopiesUseMappedMemory) {
  char* ptr = makeMapped(3);
  soft_stream* stream = makeStream(0);
  auto* backing = static_cast<char*>(soft_translate(stream, ptr, 3 * kPart));
  ASSERT_NE(backing, nullptr);
  EXPECT_EQ(backing - ptr, soft_stream_address_map(stream)->offset);
  ASSERT_OK(launch(stream, [backing] { backing[3 * kPart - 1] = 5; }));
  ASSERT_OK(soft_memset_async(ptr, 1, 3 * kPart - 1, stream));
  std::vector<char> host(3 * kPart);
  ASSERT_OK(soft_memcpy_async(host.data(), ptr, host.size(), stream));
  EXPECT_EQ(host.back(), 5);
  EXPECT_EQ(std::count(host.begin(), host.end(), 1),
            static_cast<std::ptrdiff_t>(host.size() - 1));
  soft_pointer_info info;
  ASSERT_OK(soft_pointer_get_info(ptr + kPart + 3, &info));
  EXPECT_EQ(info.kind, SOFT_MEMORY_DEVICE);
  EXPECT_EQ(info.device, 0);
  EXPECT_EQ(info.allocation, ptr);
  EXPECT_EQ(info.bytes, 3 * kPart);
  EXPECT_EQ(info.host_pointer, backing + kPart + 3);
  ASSERT_OK(soft_vm_set_access(ptr + 2 * kPart, kPart, 0, SOFT_VM_ACCESS_NONE));
  ASSERT_OK(soft_pointer_get_info(ptr + kPart + 3, &info));
  EXPECT_EQ(info.host_pointer, nullptr) << "a part is closed";
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_free(ptr));
  soft_ipc_handle handle;
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_ipc_export_memory(ptr, &handle));
}

TEST_F(VirtualMemoryTest, AliasesSeeEachOthersWrites) {
  const soft_vm_memory memory = create(2);
  char* first = reserve(2);
  char* second = reserve(1);
  ASSERT_OK(soft_vm_map(first, 2 * kPart, memory, 0));
  ASSERT_OK(soft_vm_map(second, kPart, memory, kPart));
  allow(first, 2);
  allow(second, 1);
  EXPECT_EQ(usedBytes(), 2 * kPart) << "counted once";
  writeInt(first + kPart + 8, 42);
  EXPECT_EQ(readInt(second + 8), 42);
  writeInt(second + 8, 43);
  EXPECT_EQ(readInt(first + kPart + 8), 43);
  EXPECT_EQ(readInt(first + 8), 0) << "fresh memory is zero";
}

TEST_F(VirtualMemoryTest, AllocationGrowsAtOneAddress) {
  char* ptr = reserve(8);
  for (int part = 0; part < 8; ++part) {
    const soft_vm_memory memory = create(1);
    ASSERT_OK(soft_vm_map(ptr + part * kPart, kPart, memory, 0));
    ASSERT_OK(soft_vm_destroy(memory));
    allow(ptr + part * kPart, 1);
    writeInt(ptr + part * kPart, part);
  }
  // One copy over all of the mappings.
  std::vector<char> host(8 * kPart);
  ASSERT_OK(soft_memcpy(host.data(), ptr, host.size()));
  for (int part = 0; part < 8; ++part) {
    EXPECT_EQ(host[part * kPart], part);
  }
  // Part of it shrinks away; the rest stays.
  ASSERT_OK(soft_vm_unmap(ptr + 4 * kPart, 4 * kPart));
  EXPECT_EQ(readInt(ptr + 3 * kPart), 3);
  EXPECT_EQ(usedBytes(), 4 * kPart);
}

// Kernels may not touch a hole, wherever in the range it is.
TEST_F(VirtualMemoryTest, HolesAreIllegalAddresses) {
  char* ptr = makeMapped(1);
  expectIllegal(0, reserve(1), 4);
  ASSERT_OK(soft_device_reset(0));

  ptr = reserve(3);
  const soft_vm_memory memory = create(3);
  ASSERT_OK(soft_vm_map(ptr, kPart, memory, 0));
  ASSERT_OK(soft_vm_map(ptr + 2 * kPart, kPart, memory, 2 * kPart));
  allow(ptr, 1);
  allow(ptr + 2 * kPart, 1);
  soft_stream* stream = makeStream(0);
  EXPECT_NE(soft_translate(stream, ptr + kPart - 4, 4), nullptr);
  EXPECT_NE(soft_translate(stream, ptr + 2 * kPart, kPart), nullptr);
  expectIllegal(0, ptr, 3 * kPart);
  std::vector<char> host(3 * kPart);
  EXPECT_SOFT(SOFT_INVALID_VALUE,
              soft_memcpy_async(host.data(), ptr, 3 * kPart, stream));
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_memcpy(ptr + kPart - 1, &host[0], 2));
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_memset_async(ptr + kPart, 0, 1, stream));
}

TEST_F(VirtualMemoryTest, MemoryWithoutAccessIsIllegal) {
  char* ptr = reserve(2);
  const soft_vm_memory memory = create(2);
  ASSERT_OK(soft_vm_map(ptr, 2 * kPart, memory, 0));
  soft_vm_access access = SOFT_VM_ACCESS_READ_WRITE;
  ASSERT_OK(soft_vm_get_access(ptr, 0, &access));
  EXPECT_EQ(access, SOFT_VM_ACCESS_NONE);
  int value = 0;
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_memcpy(&value, ptr, sizeof(value)));
  allow(ptr, 1);
  ASSERT_OK(soft_vm_get_access(ptr, 0, &access));
  EXPECT_EQ(access, SOFT_VM_ACCESS_READ_WRITE);
  writeInt(ptr, 9);
  EXPECT_SOFT(SOFT_INVALID_VALUE,
              soft_memcpy(&value, ptr + kPart, sizeof(value)));
  ASSERT_OK(soft_vm_set_access(ptr, kPart, 0, SOFT_VM_ACCESS_NONE));
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_memcpy(&value, ptr, sizeof(value)));
  allow(ptr, 1);
  EXPECT_EQ(readInt(ptr), 9) << "the memory outlives the access";
  expectIllegal(0, ptr, kPart + 1);
}

// Access is given to each device; peer access has no say.
TEST_F(VirtualMemoryTest, PeersNeedAccessOfTheirOwn) {
  char* ptr = makeMapped(1);
  ASSERT_OK(soft_device_enable_peer_access(1, 0));
  expectIllegal(1, ptr, 4);
  ASSERT_OK(soft_device_reset(1));
  allow(ptr, 1, 1);
  soft_stream* stream = makeStream(1);
  auto* backing = static_cast<int*>(soft_translate(stream, ptr, 4));
  ASSERT_NE(backing, nullptr);
  ASSERT_OK(launch(stream, [backing] { *backing = 77; }));
  ASSERT_OK(soft_stream_synchronize(stream));
  EXPECT_EQ(readInt(ptr), 77);
  ASSERT_OK(soft_vm_set_access(ptr, kPart, 0, SOFT_VM_ACCESS_NONE));
  EXPECT_NE(soft_translate(stream, ptr, 4), nullptr) << "device 1 still may";
  expectIllegal(0, ptr, 4);
}

TEST_F(VirtualMemoryTest, UnmapWaitsForTheWorkOfAllDevices) {
  char* ptr = makeMapped(1);
  allow(ptr, 1, 1);
  soft_stream* stream = makeStream(1);
  auto* backing = static_cast<int*>(soft_translate(stream, ptr, 4));
  static int seen;
  seen = 0;
  for (int i = 0; i < 500; ++i) {
    ASSERT_OK(launch(stream, [backing] { seen += ++*backing > 0 ? 1 : 0; }));
  }
  ASSERT_OK(soft_vm_unmap(ptr, kPart));
  EXPECT_EQ(seen, 500);
}

TEST_F(VirtualMemoryTest, CapacityIsExact) {
  const soft_vm_memory memory = create(kTestMemory / kPart);
  EXPECT_EQ(usedBytes(), kTestMemory);
  soft_vm_memory more = 5;
  EXPECT_SOFT(SOFT_OUT_OF_MEMORY, soft_vm_create(0, kPart, &more));
  EXPECT_EQ(more, 5u);
  void* ptr = nullptr;
  EXPECT_SOFT(SOFT_OUT_OF_MEMORY, soft_malloc(0, 1, &ptr));
  char* range = reserve(1);
  ASSERT_OK(soft_vm_map(range, kPart, memory, 0));
  ASSERT_OK(soft_vm_destroy(memory));
  EXPECT_EQ(usedBytes(), kTestMemory) << "a mapping keeps the memory";
  ASSERT_OK(soft_vm_unmap(range, kPart));
  EXPECT_EQ(usedBytes(), 0u);
  EXPECT_OK(soft_malloc(0, kTestMemory, &ptr));
}

TEST_F(VirtualMemoryTest, ReservationsAreFreeAndAligned) {
  EXPECT_EQ(usedBytes(), 0u);
  char* first = reserve(16);
  EXPECT_EQ(usedBytes(), 0u);
  void* aligned = nullptr;
  ASSERT_OK(soft_vm_reserve(0, kPart, 16 * kPart, nullptr, &aligned));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(aligned) % (16 * kPart), 0u);
  ASSERT_OK(soft_vm_release(first, 16 * kPart));
  void* hinted = nullptr;
  ASSERT_OK(soft_vm_reserve(0, kPart, 0, first + 3 * kPart, &hinted));
  EXPECT_EQ(hinted, first + 3 * kPart);
  void* elsewhere = nullptr;
  ASSERT_OK(soft_vm_reserve(0, kPart, 0, hinted, &elsewhere));
  EXPECT_NE(elsewhere, hinted) << "the hint is taken";
  EXPECT_SOFT(SOFT_OUT_OF_MEMORY,
              soft_vm_reserve(0, 100 * kTestMemory, 0, nullptr, &elsewhere));
}

TEST_F(VirtualMemoryTest, MisuseIsAnError) {
  std::size_t granularity = 0;
  ASSERT_OK(soft_vm_granularity(&granularity));
  EXPECT_EQ(granularity, kPart);
  char* ptr = reserve(4);
  const soft_vm_memory memory = create(2);
  const soft_vm_memory foreign = create(2, 1);
  void* out = nullptr;
  soft_vm_memory other = 0;
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_vm_reserve(0, 5, 0, nullptr, &out));
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_vm_reserve(0, 0, 0, nullptr, &out));
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_vm_reserve(0, kPart, 3, nullptr, &out));
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_vm_create(0, kPart + 1, &other));
  EXPECT_SOFT(SOFT_INVALID_HANDLE, soft_vm_map(ptr, kPart, 0, 0));
  EXPECT_SOFT(SOFT_INVALID_HANDLE, soft_vm_map(ptr, kPart, foreign, 0));
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_vm_map(ptr, 3 * kPart, memory, 0));
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_vm_map(ptr, kPart, memory, 2 * kPart));
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_vm_map(ptr, kPart, memory, 512));
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_vm_map(ptr + 512, kPart, memory, 0));
  EXPECT_SOFT(SOFT_INVALID_VALUE,
              soft_vm_map(ptr + 4 * kPart, kPart, memory, 0));
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_vm_map(&out, kPart, memory, 0));
  EXPECT_SOFT(SOFT_INVALID_VALUE,
              soft_vm_map(makeArray<char>(0, kPart), kPart, memory, 0));
  ASSERT_OK(soft_vm_map(ptr, 2 * kPart, memory, 0));
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_vm_map(ptr + kPart, kPart, memory, 0));
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_vm_unmap(ptr, kPart));
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_vm_unmap(ptr, 3 * kPart));
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_vm_unmap(ptr + kPart, kPart));
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_vm_release(ptr, 4 * kPart));
  EXPECT_SOFT(SOFT_INVALID_VALUE,
              soft_vm_set_access(ptr, 3 * kPart, 0, SOFT_VM_ACCESS_READ_WRITE));
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_vm_set_access(ptr, kPart, 0, 7));
  EXPECT_SOFT(SOFT_INVALID_DEVICE,
              soft_vm_set_access(ptr, kPart, 2, SOFT_VM_ACCESS_READ_WRITE));
  ASSERT_OK(soft_vm_destroy(memory));
  EXPECT_SOFT(SOFT_INVALID_HANDLE, soft_vm_destroy(memory));
  EXPECT_SOFT(SOFT_INVALID_HANDLE, soft_vm_destroy(0));
  EXPECT_SOFT(SOFT_INVALID_HANDLE, soft_vm_destroy(~soft_vm_memory{0}));
  ASSERT_OK(soft_vm_unmap(ptr, 2 * kPart));
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_vm_release(ptr, kPart));
  ASSERT_OK(soft_vm_release(ptr, 4 * kPart));
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_vm_release(ptr, 4 * kPart));
}

TEST_F(VirtualMemoryTest, ResetTakesEverythingBack) {
  char* ptr = makeMapped(8);
  const soft_vm_memory memory = create(1);
  soft_stream* stream = makeStream(0);
  auto* backing = static_cast<char*>(soft_translate(stream, ptr, 8 * kPart));
  ASSERT_OK(soft_memset_async(ptr, 1, 8 * kPart, stream));
  ASSERT_OK(soft_device_reset(0));
  EXPECT_EQ(usedBytes(), 0u);
  EXPECT_SOFT(SOFT_INVALID_HANDLE, soft_vm_destroy(memory));
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_vm_unmap(ptr, 8 * kPart));
  std::vector<unsigned char> resident(8 * kPart / 4096);
  ASSERT_EQ(mincore(backing, 8 * kPart, resident.data()), 0);
  EXPECT_EQ(std::count_if(resident.begin(), resident.end(),
                          [](unsigned char page) { return page & 1; }),
            0);
  EXPECT_EQ(reserve(8), ptr) << "the addresses are free again";
}

// Threads map and use ranges of their own while others do the same.
TEST_F(VirtualMemoryTest, ThreadsMapAtTheSameTime) {
  auto work = [](int32_t device) {
    soft_stream* stream = makeStream(device);
    for (int round = 0; round < 30; ++round) {
      char* ptr = reserve(2, device);
      const soft_vm_memory memory = create(2, device);
      ASSERT_OK(soft_vm_map(ptr, 2 * kPart, memory, 0));
      allow(ptr, 2, device);
      auto* backing = static_cast<int*>(soft_translate(stream, ptr, 2 * kPart));
      ASSERT_NE(backing, nullptr);
      ASSERT_OK(launch(stream, [backing, round] { *backing = round; }));
      ASSERT_OK(soft_stream_synchronize(stream));
      ASSERT_EQ(readInt(ptr), round);
      ASSERT_OK(soft_vm_unmap(ptr, 2 * kPart));
      ASSERT_OK(soft_vm_destroy(memory));
      ASSERT_OK(soft_vm_release(ptr, 2 * kPart));
    }
  };
  std::vector<std::thread> threads;
  for (const int32_t device : {0, 0, 1, 1}) threads.emplace_back(work, device);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(usedBytes(0), 0u);
  EXPECT_EQ(usedBytes(1), 0u);
}

}  // namespace
}  // namespace dipu::softdevice
