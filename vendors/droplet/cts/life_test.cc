// SPDX-License-Identifier: Apache-2.0
//
// The vendor's tables and the life of their process: reset, fork, exit, and
// great numbers.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <thread>

#include "core/abi/vendor_api.h"
#include "core/plugin_kit/error.h"
#include "vendors/droplet/cts/every_call.h"

namespace dipu::vendors::droplet {
namespace {

using plugin_kit::ErrorPtr;

// Whether the error is the one for forked children.
bool isRefusal(dipu_error* error) {
  const ErrorPtr owner(error);
  if (error == nullptr) return false;
  const bool right =
      error->code == DIPU_FAILED_PRECONDITION &&
      std::string(error->message).find("forked") != std::string::npos;
  if (!right) std::fprintf(stderr, "%s\n", error->message);
  return right;
}

// Exit status of a forked child; its alarm ends one that hangs.
int runInChild(const std::function<bool()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(40);
    _exit(body() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

std::size_t entriesOf(const char* folder) {
  return std::distance(std::filesystem::directory_iterator(folder), {});
}
std::size_t threadCount() { return entriesOf("/proc/self/task"); }
std::size_t openFiles() { return entriesOf("/proc/self/fd"); }

// Threads of destroyed streams end by themselves, shortly after.
bool threadsFallTo(std::size_t expected) {
  for (int i = 0; i < 30000 && threadCount() > expected; ++i) usleep(1000);
  return threadCount() <= expected;
}

bool useDevice(int32_t device) {
  void* data = nullptr;
  char byte = 0;
  return ok(vendor().device->set_current(device)) &&
         ok(vendor().memory->allocate(device, 1000, &data)) &&
         ok(vendor().memory->set_async(data, device, 7, 1000,
                                       makeStream(device))) &&
         ok(vendor().device->synchronize(device)) &&
         ok(vendor().memory->copy(&byte, DIPU_HOST, data, device, 1)) &&
         byte == 7 && (vendor().memory->deallocate(device, data), true);
}

// First: the parent must not have used a device yet.
TEST(Life, AChildForkedBeforeUseHasItsOwnDevices) {
  int32_t count = 0;
  ASSERT_TRUE(ok(vendor().device->get_count(&count)));
  EXPECT_EQ(runInChild([] { return useDevice(0) && useDevice(1); }), 0);
  EXPECT_TRUE(useDevice(0)) << "and so has the parent";
}

bool everyCallIsRefused(const Calls& calls) {
  for (const auto& [name, call] : calls) {
    if (isRefusal(call())) continue;
    std::fprintf(stderr, "%s\n", name.c_str());
    return false;
  }
  return true;
}

TEST(Life, EveryCallOfAForkedChildIsAClearError) {
  ASSERT_TRUE(useDevice(0));
  const Handles handles = makeHandles();
  const Calls calls = makeCalls(handles);
  std::atomic<bool> stop{false};
  // Holds all kinds of locks while the children are made.
  std::thread busy([&] {
    while (!stop) {
      dipu_stream* stream = nullptr;
      void* data = nullptr;
      ok(vendor().stream->get_default(1, &stream));
      ok(vendor().memory->allocate(1, 1000, &data));
      vendor().memory->deallocate(1, data);
    }
  });
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(runInChild([&] {
                return everyCallIsRefused(calls) && release(handles);
              }),
              0);
  }
  stop = true;
  busy.join();
  EXPECT_EQ(runInChild([]() -> bool { std::exit(9); }), 9)
      << "exit handlers must not wait for absent threads";
  EXPECT_TRUE(ok(vendor().graph->launch(handles.exec, handles.stream)));
  EXPECT_TRUE(ok(vendor().stream->synchronize(handles.stream)));
  release(handles);
}

TEST(Life, AResetEndsWhatThereWas) {
  ASSERT_TRUE(useDevice(1));
  const std::size_t files = openFiles();
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  dipu_stream* stream = makeStream(1);
  void* data = nullptr;
  char handle[64];
  ASSERT_TRUE(ok(vendor().memory->allocate(1, 32 << 20, &data)));
  ASSERT_TRUE(ok(vendor().ipc->export_memory(1, data, handle)));
  EXPECT_GT(openFiles(), files);
  ASSERT_TRUE(ok(vendor().memory->set_async(data, 1, 1, 32 << 20, stream)));
  ASSERT_TRUE(ok(vendor().device->reset(1)));
  EXPECT_EQ(openFiles(), files);
  ASSERT_TRUE(ok(vendor().memory->get_info(1, &free_bytes, &total_bytes)));
  EXPECT_EQ(free_bytes, total_bytes);
  const ErrorPtr error(vendor().stream->synchronize(stream));
  ASSERT_NE(error, nullptr);
  EXPECT_NE(std::string(error->message).find("destroyed"), std::string::npos)
      << error->message;
  EXPECT_TRUE(useDevice(1));
}

// What the streams do when the process ends: one runs, one waits for it, and
// others have work behind that.
TEST(Life, ExitWithWorkInFlightEndsTheProcess) {
  EXPECT_EQ(runInChild([] {
              setenv("SOFTDEVICE_FAULTS", "hang=1,device=1", 1);
              execl("/proc/self/exe", "life_test",
                    "--gtest_also_run_disabled_tests",
                    "--gtest_filter=*DISABLED_ExitsWithWorkInFlight", nullptr);
              return false;
            }),
            9);
}

TEST(Life, DISABLED_ExitsWithWorkInFlight) {
  dipu_stream* running = makeStream(0);
  dipu_stream* hung = makeStream(1);
  dipu_event* event = nullptr;
  ASSERT_TRUE(ok(vendor().event->create(1, 0, &event)));
  ASSERT_TRUE(
      ok(vendor().stream->launch_host_func(hung, [](void*) {}, nullptr)));
  ASSERT_TRUE(ok(vendor().event->record(event, hung)));
  static std::atomic<bool> runs{false};
  ASSERT_TRUE(ok(vendor().stream->launch_host_func(
      running,
      [](void*) {
        runs = true;
        for (;;) pause();
      },
      nullptr)));
  while (!runs) std::this_thread::yield();
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(ok(vendor().stream->wait_event(makeStream(0), event)));
  }
  vendor().event->destroy(event);
  std::exit(9);
}

// Sanitizers are slow.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kMany = 2000;
#else
constexpr int kMany = 10000;
#endif

TEST(Life, TenThousandStreamsAndEvents) {
  ASSERT_TRUE(useDevice(0) && useDevice(1));
  const std::size_t threads = threadCount();
  const std::size_t files = openFiles();
  static std::atomic<int> runs;
  runs = 0;
  const auto use = [](int32_t device) {
    for (int i = 0; i < kMany / 2; ++i) {
      dipu_stream* stream = makeStream(device);
      dipu_event* event = nullptr;
      EXPECT_TRUE(ok(vendor().event->create(
          device, i % 2 == 0 ? DIPU_EVENT_TIMING : 0, &event)));
      EXPECT_TRUE(ok(vendor().stream->launch_host_func(
          stream, [](void*) { ++runs; }, nullptr)));
      EXPECT_TRUE(ok(vendor().event->record(event, stream)));
      vendor().event->destroy(event);
      vendor().stream->destroy(device, stream);
    }
  };
  std::thread first(use, 0);
  std::thread second(use, 1);
  first.join();
  second.join();
  EXPECT_TRUE(ok(vendor().device->synchronize(0)));
  EXPECT_TRUE(ok(vendor().device->synchronize(1)));
  EXPECT_TRUE(threadsFallTo(threads)) << threadCount() << " threads are left";
  EXPECT_EQ(runs, kMany);
  EXPECT_EQ(openFiles(), files);
}

TEST(Life, AThousandSwitchesOfTheDevice) {
  ASSERT_TRUE(useDevice(0) && useDevice(1));
  size_t before[2];
  size_t total = 0;
  for (int32_t d : {0, 1}) {
    ASSERT_TRUE(ok(vendor().memory->get_info(d, &before[d], &total)));
  }
  const std::size_t threads = threadCount();
  for (int32_t i = 0; i < 1000; ++i) {
    const int32_t device = i % 2;
    int32_t seen = -1;
    void* data = nullptr;
    dipu_stream* stream = nullptr;
    ASSERT_TRUE(ok(vendor().device->set_current(device)));
    ASSERT_TRUE(ok(vendor().device->get_current(&seen)));
    ASSERT_EQ(seen, device);
    ASSERT_TRUE(ok(vendor().stream->get_default(device, &stream)));
    ASSERT_TRUE(ok(vendor().memory->allocate(device, 4096, &data)));
    ASSERT_TRUE(ok(vendor().memory->set_async(data, device, i, 4096, stream)));
    vendor().memory->deallocate(device, data);
  }
  EXPECT_TRUE(threadsFallTo(threads + 2)) << "two default streams at most";
  for (int32_t d : {0, 1}) {
    size_t after = 0;
    ASSERT_TRUE(ok(vendor().memory->get_info(d, &after, &total)));
    EXPECT_EQ(after, before[d]);
  }
}

}  // namespace
}  // namespace dipu::vendors::droplet
