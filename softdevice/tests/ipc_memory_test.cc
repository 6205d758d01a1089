// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <vector>

#include "softdevice/soft_ipc.h"
#include "softdevice/tests/child_process.h"
#include "softdevice/tests/device_test.h"

namespace dipu::softdevice {
namespace {

constexpr std::size_t kCount = 5000;

std::vector<int> numbers(int start) {
  std::vector<int> values(kCount);
  std::iota(values.begin(), values.end(), start);
  return values;
}

std::vector<int> readInts(const void* ptr, std::size_t count = kCount) {
  std::vector<int> values(count);
  EXPECT_OK(soft_memcpy(values.data(), ptr, count * sizeof(int)));
  return values;
}

void writeInts(void* ptr, const std::vector<int>& values) {
  EXPECT_OK(soft_memcpy(ptr, values.data(), values.size() * sizeof(int)));
}

soft_ipc_handle exportMemory(const void* ptr) {
  soft_ipc_handle handle{};
  EXPECT_OK(soft_ipc_export_memory(ptr, &handle));
  return handle;
}

// ------------------------------------------------- roles of a second process

// Exports an array, then does as it is told.
enum class Order : int { kEnd = 0, kDouble, kFree };

void exporterRole(const Channel& parent) {
  void* data = nullptr;
  if (soft_malloc(1, kCount * sizeof(int), &data) != SOFT_OK) std::abort();
  writeInts(data, numbers(7));
  parent.send(exportMemory(data));
  for (;;) {
    switch (parent.receive<Order>()) {
      case Order::kEnd:
        return;
      case Order::kDouble: {
        auto values = readInts(data);
        for (int& value : values) value *= 2;
        writeInts(data, values);
        break;
      }
      case Order::kFree:
        soft_free(data);
        break;
    }
    parent.send(1);
  }
}

// Opens what it is given and adds one to `count` integers at an offset.
struct Job {
  soft_ipc_handle handle;
  std::size_t offset;
  std::size_t count;
};

void importerRole(const Channel& parent) {
  const Job job = parent.receive<Job>();
  void* data = nullptr;
  if (soft_ipc_open_memory(0, &job.handle, &data) != SOFT_OK) {
    std::fprintf(stderr, "%s\n", soft_last_message());
    std::abort();
  }
  int* const start = static_cast<int*>(data) + job.offset;
  auto values = readInts(start, job.count);
  for (int& value : values) ++value;
  writeInts(start, values);
  parent.send(soft_ipc_close_memory(data));
}

// ------------------------------------------------------------------- tests

class IpcMemoryTest : public DeviceTest {
 protected:
  // Opens what a child exported.
  static int* open(const soft_ipc_handle& handle, int32_t device = 0) {
    void* data = nullptr;
    EXPECT_OK(soft_ipc_open_memory(device, &handle, &data));
    return static_cast<int*>(data);
  }
  static void order(const ChildProcess& child, Order what) {
    child.send(what);
    EXPECT_EQ(child.receive<int>(), 1);
  }
  static std::size_t usedBytes(int32_t device) {
    std::size_t free_bytes = 0;
    std::size_t total = 0;
    EXPECT_OK(soft_memory_info(device, &free_bytes, &total));
    return total - free_bytes;
  }
};

TEST_F(IpcMemoryTest, BothProcessesSeeOneMemory) {
  ChildProcess child("exporter");
  const auto handle = child.receive<soft_ipc_handle>();
  int* data = open(handle);
  EXPECT_EQ(readInts(data), numbers(7));
  order(child, Order::kDouble);
  auto doubled = numbers(7);
  for (int& value : doubled) value *= 2;
  EXPECT_EQ(readInts(data), doubled);
  EXPECT_OK(soft_ipc_close_memory(data));
}

TEST_F(IpcMemoryTest, OpenedMemoryIsDeviceMemoryInEveryRespect) {
  ChildProcess child("exporter");
  int* data = open(child.receive<soft_ipc_handle>(), 1);
  soft_pointer_info info;
  ASSERT_OK(soft_pointer_get_info(data + 5, &info));
  EXPECT_EQ(info.kind, SOFT_MEMORY_DEVICE);
  EXPECT_EQ(info.device, 1);
  EXPECT_EQ(info.allocation, data);
  EXPECT_EQ(info.bytes, (kCount * sizeof(int) + 511) / 512 * 512);
  EXPECT_EQ(usedBytes(1), 0u) << "the exporter's memory counts there";

  soft_stream* stream = makeStream(1);
  auto* backing =
      static_cast<int*>(soft_translate(stream, data, kCount * sizeof(int)));
  ASSERT_NE(backing, nullptr);
  ASSERT_OK(launch(stream, [backing] { ++backing[3]; }));
  auto* copy = makeArray<int>(0, kCount);
  ASSERT_OK(soft_memcpy_async(copy, data, kCount * sizeof(int), stream));
  ASSERT_OK(soft_stream_synchronize(stream));
  auto expected = numbers(7);
  ++expected[3];
  EXPECT_EQ(readInts(copy), expected);

  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_memcpy(copy, data, info.bytes + 1));
  soft_ipc_handle handle;
  EXPECT_SOFT(SOFT_NOT_PERMITTED, soft_ipc_export_memory(data, &handle));
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_free(data));
  EXPECT_TRUE(lastMessageHas("soft_ipc_close_memory"));
  EXPECT_OK(soft_ipc_close_memory(data));
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_ipc_close_memory(data));
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_memcpy(copy, data, 4));
}

TEST_F(IpcMemoryTest, MemoryOutlivesItsExporter) {
  ChildProcess child("exporter");
  int* data = open(child.receive<soft_ipc_handle>());
  child.kill();
  EXPECT_EQ(readInts(data), numbers(7));
  writeInts(data, numbers(1));
  EXPECT_EQ(readInts(data), numbers(1));
  EXPECT_OK(soft_ipc_close_memory(data));
}

TEST_F(IpcMemoryTest, MemoryOutlivesItsFree) {
  ChildProcess child("exporter");
  const auto handle = child.receive<soft_ipc_handle>();
  int* data = open(handle);
  order(child, Order::kFree);
  EXPECT_EQ(readInts(data), numbers(7));
  // It is the same memory still, so an open of it is one more of the same.
  EXPECT_OK(soft_ipc_close_memory(data));
  void* again = &again;
  EXPECT_SOFT(SOFT_INVALID_HANDLE, soft_ipc_open_memory(0, &handle, &again));
  EXPECT_TRUE(lastMessageHas("no longer has")) << soft_last_message();
  EXPECT_EQ(again, &again);
}

TEST_F(IpcMemoryTest, OpensAreCounted) {
  ChildProcess child("exporter");
  const auto handle = child.receive<soft_ipc_handle>();
  int* first = open(handle);
  EXPECT_EQ(open(handle), first);
  int* other_device = open(handle, 1);
  EXPECT_NE(other_device, first);
  EXPECT_OK(soft_ipc_close_memory(first));
  EXPECT_EQ(readInts(first), numbers(7));
  EXPECT_OK(soft_ipc_close_memory(first));
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_ipc_close_memory(first));
  EXPECT_EQ(readInts(other_device), numbers(7));
  EXPECT_OK(soft_ipc_close_memory(other_device));
}

// A caching allocator exports the segment and sends an offset along.
TEST_F(IpcMemoryTest, OffsetIntoALargeSegment) {
  constexpr std::size_t kSegment = std::size_t{20} << 20;
  auto* segment = makeArray<char>(0, kSegment);
  int* part = reinterpret_cast<int*>(segment + (9 << 20) + 512);
  writeInts(part, numbers(3));
  const std::size_t used = usedBytes(0);
  ChildProcess child("importer");
  child.send(
      Job{exportMemory(segment),
          static_cast<std::size_t>(part - reinterpret_cast<int*>(segment)),
          kCount});
  EXPECT_EQ(child.receive<soft_status>(), SOFT_OK);
  EXPECT_EQ(child.wait(), 0);
  EXPECT_EQ(readInts(part), numbers(4));
  EXPECT_EQ(usedBytes(0), used);
}

// Several small allocations lie in one page, and so do their handles.
TEST_F(IpcMemoryTest, SmallNeighboursAreSharedEachByItself) {
  int* first = makeArray<int>(0, 10);
  int* second = makeArray<int>(0, 200);
  int* third = makeArray<int>(0, 10);
  for (int* data : {first, second, third}) {
    writeInts(data, std::vector<int>(10, 5));
  }
  const auto first_handle = exportMemory(first);
  const auto second_handle = exportMemory(second);
  EXPECT_NE(std::memcmp(&first_handle, &second_handle, sizeof(first_handle)),
            0);
  for (const auto& handle : {first_handle, second_handle}) {
    ChildProcess child("importer");
    child.send(Job{handle, 0, 10});
    EXPECT_EQ(child.receive<soft_status>(), SOFT_OK);
  }
  EXPECT_EQ(readInts(first, 10), std::vector<int>(10, 6));
  EXPECT_EQ(readInts(second, 10), std::vector<int>(10, 6));
  EXPECT_EQ(readInts(third, 10), std::vector<int>(10, 5));
  EXPECT_OK(soft_free(second));
  EXPECT_EQ(readInts(first, 10), std::vector<int>(10, 6));
}

TEST_F(IpcMemoryTest, BadHandlesAreErrors) {
  int* data = makeArray<int>(0, kCount);
  soft_ipc_handle handle = exportMemory(data);
  void* out = nullptr;
  EXPECT_SOFT(SOFT_NOT_PERMITTED, soft_ipc_open_memory(0, &handle, &out));
  EXPECT_TRUE(lastMessageHas("this process")) << soft_last_message();
  handle.bytes[20] ^= 1;
  EXPECT_SOFT(SOFT_INVALID_HANDLE, soft_ipc_open_memory(0, &handle, &out));
  EXPECT_TRUE(lastMessageHas("no handle")) << soft_last_message();
  handle = {};
  EXPECT_SOFT(SOFT_INVALID_HANDLE, soft_ipc_open_memory(0, &handle, &out));
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_ipc_open_memory(0, nullptr, &out));
  EXPECT_SOFT(SOFT_INVALID_DEVICE, soft_ipc_open_memory(9, &handle, &out));
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_ipc_export_memory(data + 1, &handle));
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_ipc_export_memory(&out, &handle));
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_ipc_export_memory(data, nullptr));
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_ipc_close_memory(data));
  EXPECT_OK(soft_ipc_close_memory(nullptr));
}

TEST_F(IpcMemoryTest, DeadExporterIsNamed) {
  ChildProcess child("exporter");
  const auto handle = child.receive<soft_ipc_handle>();
  const pid_t pid = child.pid();
  child.kill();
  void* out = nullptr;
  EXPECT_SOFT(SOFT_INVALID_HANDLE, soft_ipc_open_memory(0, &handle, &out));
  EXPECT_TRUE(lastMessageHas("process " + std::to_string(pid)));
  EXPECT_TRUE(lastMessageHas("has ended")) << soft_last_message();
}

// Two processes that know each other only by the bytes of a handle.
TEST_F(IpcMemoryTest, UnrelatedProcesses) {
  ChildProcess exporter("exporter");
  ChildProcess importer("importer");
  const auto handle = exporter.receive<soft_ipc_handle>();
  importer.send(Job{handle, 0, kCount});
  EXPECT_EQ(importer.receive<soft_status>(), SOFT_OK);
  int* data = open(handle);
  EXPECT_EQ(readInts(data), numbers(8));
  EXPECT_OK(soft_ipc_close_memory(data));
}

// Resident pages of shared memory that this process has mapped, in bytes.
std::size_t residentSharedBytes() {
  std::FILE* file = std::fopen("/proc/self/status", "r");
  char line[256];
  std::size_t kilobytes = 0;
  while (file != nullptr && std::fgets(line, sizeof(line), file) != nullptr) {
    if (std::sscanf(line, "RssShmem: %zu", &kilobytes) == 1) break;
  }
  if (file != nullptr) std::fclose(file);
  return kilobytes << 10;
}

TEST_F(IpcMemoryTest, SharedPagesGoBackToTheMachine) {
  constexpr std::size_t kBytes = std::size_t{16} << 20;
  const std::size_t before = residentSharedBytes();
  auto* exported = makeArray<int>(0, kBytes / sizeof(int));
  const std::vector<int> ones(kBytes / sizeof(int), 1);
  writeInts(exported, ones);
  exportMemory(exported);
  EXPECT_EQ(readInts(exported, ones.size()), ones);
  EXPECT_GE(residentSharedBytes(), before + kBytes);
  ASSERT_OK(soft_free(exported));
  EXPECT_LT(residentSharedBytes(), before + kBytes / 2) << "after soft_free";

  ChildProcess child("exporter");
  const auto handle = child.receive<soft_ipc_handle>();
  int* opened = open(handle);
  exported = makeArray<int>(0, kBytes / sizeof(int));
  writeInts(exported, ones);
  exportMemory(exported);
  ASSERT_OK(soft_device_reset(0));
  EXPECT_LT(residentSharedBytes(), before + kBytes / 2) << "after a reset";
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_ipc_close_memory(opened));
  EXPECT_EQ(open(handle), opened) << "a reset device can open it again";
}

}  // namespace
}  // namespace dipu::softdevice

int main(int argc, char** argv) {
  // Before any device is used, here and in the children.
  setenv("SOFTDEVICE_COUNT", "2", 1);
  setenv("SOFTDEVICE_MEMORY", "64M", 1);
  dipu::softdevice::runChildRole(
      argc, argv,
      {{"exporter", dipu::softdevice::exporterRole},
       {"importer", dipu::softdevice::importerRole}});
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
