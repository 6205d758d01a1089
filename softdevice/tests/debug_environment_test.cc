// SPDX-License-Identifier: Apache-2.0
//
// Debugging that the environment asks for. Each case is a child process, since
// settings are read once.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <string>

#include "softdevice/soft_debug.h"
#include "softdevice/tests/device_test.h"

namespace dipu::softdevice {
namespace {

// Exit status of a child with one variable set, which gets 20 seconds.
int runWith(const char* name, const char* value,
            const std::function<void()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    setenv("SOFTDEVICE_MEMORY", "64M", 1);
    setenv(name, value, 1);
    body();
    std::exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

void expect(bool condition, int line) {
  if (condition) return;
  std::fprintf(stderr, "line %d: %s\n", line, soft_last_message());
  _exit(2);
}
#define CHILD_EXPECT(condition) expect((condition), __LINE__)

TEST(DebugEnvironmentTest, Faults) {
  EXPECT_EQ(
      runWith("SOFTDEVICE_FAULTS", "oom_call=1,device=1",
              [] {
                void* ptr = nullptr;
                CHILD_EXPECT(soft_malloc(0, 8, &ptr) == SOFT_OK);
                CHILD_EXPECT(soft_malloc(1, 8, &ptr) == SOFT_OUT_OF_MEMORY);
                CHILD_EXPECT(soft_malloc(1, 8, &ptr) == SOFT_OK);
              }),
      0);
}

TEST(DebugEnvironmentTest, HostMemoryNeedsNoDevice) {
  EXPECT_EQ(
      runWith("SOFTDEVICE_FAULTS", "host_oom_call=1",
              [] {
                void* ptr = nullptr;
                CHILD_EXPECT(soft_host_malloc(8, &ptr) == SOFT_OUT_OF_MEMORY);
                CHILD_EXPECT(soft_host_malloc(8, &ptr) == SOFT_OK);
              }),
      0);
}

TEST(DebugEnvironmentTest, WrongFaultsAreExplained) {
  EXPECT_EQ(
      runWith("SOFTDEVICE_FAULTS", "lunch=3",
              [] {
                void* ptr = nullptr;
                CHILD_EXPECT(soft_malloc(0, 8, &ptr) == SOFT_INVALID_VALUE);
                CHILD_EXPECT(std::strstr(soft_last_message(),
                                         "SOFTDEVICE_FAULTS='lunch=3': 'lunch' "
                                         "is not known"));
              }),
      0);
}

TEST(DebugEnvironmentTest, ExitDoesNotWaitForAHungStream) {
  EXPECT_EQ(
      runWith("SOFTDEVICE_FAULTS", "hang=2",
              [] {
                soft_stream* stream = nullptr;
                static std::atomic<bool> ran;
                CHILD_EXPECT(soft_stream_get_default(0, &stream) == SOFT_OK);
                CHILD_EXPECT(launch(stream, [] { ran = true; }) == SOFT_OK);
                CHILD_EXPECT(launch(stream, [] { _exit(3); }) == SOFT_OK);
                while (!ran) usleep(100);
              }),
      0);
}

TEST(DebugEnvironmentTest, Schedule) {
  EXPECT_EQ(
      runWith("SOFTDEVICE_SCHEDULE_SEED", "17",
              [] {
                soft_stream* stream = nullptr;
                static int count;
                CHILD_EXPECT(soft_stream_get_default(0, &stream) == SOFT_OK);
                CHILD_EXPECT(launch(stream, [] { ++count; }) == SOFT_OK);
                CHILD_EXPECT(count == 0);
                CHILD_EXPECT(soft_stream_synchronize(stream) == SOFT_OK);
                uint64_t steps = 0;
                CHILD_EXPECT(soft_schedule_steps(&steps) == SOFT_OK);
                CHILD_EXPECT(count == 1 && steps == 1);
                // Work that nobody waits for does not keep exit() waiting.
                CHILD_EXPECT(launch(stream, [] { ++count; }) == SOFT_OK);
              }),
      0);
}

TEST(DebugEnvironmentTest, Trace) {
  EXPECT_EQ(
      runWith("SOFTDEVICE_TRACE", "5",
              [] {
                void* ptr = nullptr;
                CHILD_EXPECT(soft_malloc(0, 8, &ptr) == SOFT_OK);
                soft_trace_entry entry;
                std::size_t count = 0;
                CHILD_EXPECT(soft_trace_read(&entry, 1, &count, nullptr) ==
                             SOFT_OK);
                CHILD_EXPECT(count == 1 && entry.kind == SOFT_TRACE_ALLOCATE);
              }),
      0);
}

TEST(DebugEnvironmentTest, Counters) {
  EXPECT_EQ(
      runWith("SOFTDEVICE_COUNTERS", "1",
              [] {
                soft_stream* stream = nullptr;
                CHILD_EXPECT(soft_stream_get_default(0, &stream) == SOFT_OK);
                CHILD_EXPECT(launch(stream, [] {}) == SOFT_OK);
                CHILD_EXPECT(soft_stream_synchronize(stream) == SOFT_OK);
                soft_counter counter;
                std::size_t count = 0;
                CHILD_EXPECT(soft_counters_read(&counter, 1, &count) ==
                             SOFT_OK);
                CHILD_EXPECT(count == 1 && counter.launches == 1);
              }),
      0);
}

}  // namespace
}  // namespace dipu::softdevice
