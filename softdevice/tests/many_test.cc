// SPDX-License-Identifier: Apache-2.0
//
// Ten thousand streams and events leave no thread, no file and no memory
// behind, and a reset gives everything back.
#include <dirent.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "softdevice/soft_ipc.h"
#include "softdevice/soft_virtual_memory.h"
#include "softdevice/tests/device_test.h"

namespace dipu::softdevice {
namespace {

// Sanitizers keep what is freed, shadow what has been written, and are slow.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif
constexpr int kMany = kSanitized ? 2000 : 10000;

constexpr std::size_t kMiB = std::size_t{1} << 20;

// A number of bytes or threads from /proc/self/status.
std::size_t statusField(const std::string& name) {
  std::ifstream file("/proc/self/status");
  std::string word;
  std::size_t value = 0;
  while (file >> word) {
    if (word != name + ":") continue;
    file >> value >> word;
    return word == "kB" ? value * 1024 : value;
  }
  ADD_FAILURE() << "no " << name;
  return 0;
}

std::size_t threadCount() { return statusField("Threads"); }
std::size_t residentBytes() { return statusField("VmRSS"); }

std::size_t openFiles() {
  std::size_t count = 0;
  DIR* folder = opendir("/proc/self/fd");
  while (readdir(folder) != nullptr) ++count;
  closedir(folder);
  return count;
}

// Threads of destroyed streams end by themselves, shortly after.
void expectThreads(std::size_t expected) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (threadCount() > expected && std::chrono::steady_clock::now() < end) {
    usleep(1000);
  }
  EXPECT_LE(threadCount(), expected);
}

class ManyTest : public DeviceTest {
 protected:
  // `count` streams, each with work that waits for the one before it.
  static void useStreams(int32_t device, int count, std::atomic<int>* runs) {
    std::vector<soft_stream*> streams;
    std::vector<soft_event*> events;
    for (int i = 0; i < count; ++i) {
      soft_event* event = nullptr;
      streams.push_back(makeStream(device, i % 2));
      EXPECT_OK(soft_event_create(
          device, i % 3 == 0 ? SOFT_EVENT_DISABLE_TIMING : 0, &event));
      events.push_back(event);
      if (i > 0) {
        EXPECT_OK(soft_stream_wait_event(streams[i], events[i - 1]));
      }
      EXPECT_OK(launch(streams[i], [runs] { ++*runs; }));
      EXPECT_OK(soft_event_record(event, streams[i]));
    }
    // Half of them are destroyed with their work in flight.
    for (int i = 0; i < count; ++i) {
      if (i % 2 == 0) {
        EXPECT_OK(soft_stream_synchronize(streams[i]));
      }
      EXPECT_OK(soft_event_destroy(events[i]));
      EXPECT_OK(soft_stream_destroy(streams[i]));
    }
  }

  static void useStreamsInThreads(int each, std::atomic<int>* runs) {
    constexpr int kTogether = 25;
    std::vector<std::thread> threads;
    for (int32_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([=] {
        for (int done = 0; done < each; done += kTogether) {
          useStreams(t % 2, kTogether, runs);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  static constexpr int kThreads = 4;
};

TEST_F(ManyTest, TenThousandStreamsAndEventsLeaveNothingBehind) {
  std::atomic<int> runs{0};
  EXPECT_OK(soft_device_synchronize(0));
  EXPECT_OK(soft_device_synchronize(1));
  const std::size_t threads = threadCount();
  // Once before measuring, so that pools of the C library are filled.
  useStreamsInThreads(250, &runs);
  expectThreads(threads);
  const std::size_t files = openFiles();
  const std::size_t resident = residentBytes();
  const auto start = std::chrono::steady_clock::now();
  useStreamsInThreads(kMany / kThreads, &runs);
  EXPECT_OK(soft_device_synchronize(0));
  EXPECT_OK(soft_device_synchronize(1));
  expectThreads(threads);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
  EXPECT_EQ(runs, kThreads * 250 + kMany);
  EXPECT_EQ(openFiles(), files);
  if (kSanitized) return;
  // See Note [Stream lifetime]: about half a kilobyte each stays.
  const std::size_t after = residentBytes();
  EXPECT_LT(after, resident + 10 * kMiB);
  std::printf("10,000 streams keep %zu KiB\n",
              (std::max(after, resident) - resident) / 1024);
}

TEST_F(ManyTest, TenThousandEventsBetweenProcessesLeaveNothingBehind) {
  soft_stream* stream = makeStream(0);
  const std::size_t files = openFiles();
  for (int i = 0; i < kMany; ++i) {
    soft_event* event = nullptr;
    ASSERT_OK(soft_event_create(
        0, SOFT_EVENT_INTERPROCESS | SOFT_EVENT_DISABLE_TIMING, &event));
    ASSERT_OK(soft_event_record(event, stream));
    ASSERT_OK(soft_event_destroy(event));
  }
  ASSERT_OK(soft_stream_synchronize(stream));
  EXPECT_EQ(openFiles(), files);
}

// Memory of every kind that a device has, all of it written to.
void fillDevice(soft_stream* stream) {
  constexpr std::size_t kBytes = 16 * kMiB;
  void* data[2];
  for (void*& each : data) ASSERT_OK(soft_malloc(0, kBytes, &each));
  soft_ipc_handle handle;
  ASSERT_OK(soft_ipc_export_memory(data[1], &handle));
  for (void* each : data) {
    ASSERT_OK(soft_memset_async(each, 1, kBytes, stream));
  }
  void* reserved = nullptr;
  soft_vm_memory memory = 0;
  ASSERT_OK(soft_vm_reserve(0, kBytes, 0, nullptr, &reserved));
  ASSERT_OK(soft_vm_create(0, kBytes, &memory));
  ASSERT_OK(soft_vm_map(reserved, kBytes, memory, 0));
  ASSERT_OK(soft_vm_set_access(reserved, kBytes, 0, SOFT_VM_ACCESS_READ_WRITE));
  ASSERT_OK(soft_memset_async(reserved, 1, kBytes, stream));
  ASSERT_OK(soft_stream_synchronize(stream));
}

TEST_F(ManyTest, AResetGivesEverythingBackToTheSystem) {
  ASSERT_OK(soft_device_synchronize(0));
  const std::size_t threads = threadCount();
  const std::size_t files = openFiles();
  const std::size_t empty = residentBytes();
  for (int i = 0; i < 3; ++i) {
    soft_stream* stream = makeStream(0);
    fillDevice(stream);
    EXPECT_GT(residentBytes(), empty + 40 * kMiB);
    EXPECT_GT(openFiles(), files);
    ASSERT_OK(soft_device_reset(0));
    if (!kSanitized) {
      EXPECT_LT(residentBytes(), empty + 8 * kMiB);
    }
    EXPECT_EQ(openFiles(), files);
    expectThreads(threads);
    std::size_t free_bytes = 0;
    std::size_t total = 0;
    ASSERT_OK(soft_memory_info(0, &free_bytes, &total));
    EXPECT_EQ(free_bytes, total);
    EXPECT_SOFT(SOFT_INVALID_HANDLE, launch(stream, [] {}));
  }
}

}  // namespace
}  // namespace dipu::softdevice
