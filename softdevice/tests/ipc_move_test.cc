// SPDX-License-Identifier: Apache-2.0
//
// The first export of memory moves it into a file while other threads work.
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "softdevice/soft_ipc.h"
#include "softdevice/tests/device_test.h"

namespace dipu::softdevice {
namespace {

using IpcMoveTest = DeviceTest;

constexpr std::size_t kCount = 5000;

soft_ipc_handle exportMemory(const void* ptr) {
  soft_ipc_handle handle{};
  EXPECT_OK(soft_ipc_export_memory(ptr, &handle));
  return handle;
}

TEST_F(IpcMoveTest, ExportingAgainGivesTheSameHandle) {
  int* data = makeArray<int>(0, kCount);
  const auto first = exportMemory(data);
  const auto second = exportMemory(data);
  EXPECT_EQ(std::memcmp(&first, &second, sizeof(first)), 0);
  // The next allocation at this address is another one.
  ASSERT_OK(soft_free(data));
  int* next = makeArray<int>(0, kCount);
  ASSERT_EQ(next, data);
  std::vector<int> found(kCount, 1);
  ASSERT_OK(soft_memcpy(found.data(), next, kCount * sizeof(int)));
  EXPECT_EQ(found, std::vector<int>(kCount, 0))
      << "freed pages come back as zeros";
  const auto third = exportMemory(next);
  EXPECT_NE(std::memcmp(&first, &third, sizeof(first)), 0);
}

// Not one increment is lost while the pages move under running kernels.
TEST_F(IpcMoveTest, WorkOfOtherThreadsSurvivesTheMove) {
  constexpr std::size_t kBytes = std::size_t{8} << 20;
  soft_stream* stream = makeStream(0);
  soft_stream* other = makeStream(1);
  for (int move = 0; move < 5; ++move) {
    auto* data = makeArray<int>(0, kBytes / sizeof(int));
    auto* counter = static_cast<int*>(soft_translate(stream, data, kBytes));
    // Only bytes that are not zero take time to move.
    ASSERT_OK(soft_memset_async(data, 1, kBytes, stream));
    ASSERT_OK(soft_memset_async(data, 0, sizeof(int), stream));
    std::atomic<int> launches{0};
    std::atomic<bool> moved{false};
    std::thread producer([&] {
      while (!moved) {
        EXPECT_OK(launch(stream, [counter] { ++*counter; }));
        EXPECT_OK(launch(other, [] {}));
        ++launches;
      }
    });
    while (launches == 0) std::this_thread::yield();
    exportMemory(data);
    moved = true;
    producer.join();
    ASSERT_OK(soft_stream_synchronize(stream));
    int found = 0;
    ASSERT_OK(soft_memcpy(&found, data, sizeof(found)));
    ASSERT_EQ(found, launches);
    ASSERT_OK(soft_free(data));
  }
}

// A worker that waits for another stream is as good as stopped.
TEST_F(IpcMoveTest, StreamsThatWaitForOneAnotherPause) {
  auto* data = makeArray<int>(0, kCount);
  soft_stream* first = makeStream(0);
  soft_stream* second = makeStream(1);
  soft_event* event = nullptr;
  ASSERT_OK(soft_event_create(0, SOFT_EVENT_DISABLE_TIMING, &event));
  std::atomic<bool> stop{false};
  std::thread producer([&] {
    while (!stop) {
      EXPECT_OK(launch(first, [] {}));
      EXPECT_OK(soft_event_record(event, first));
      EXPECT_OK(soft_stream_wait_event(second, event));
      EXPECT_OK(launch(second, [] {}));
    }
  });
  exportMemory(data);
  stop = true;
  producer.join();
  EXPECT_OK(soft_event_destroy(event));
}

}  // namespace
}  // namespace dipu::softdevice
