// SPDX-License-Identifier: Apache-2.0
//
// However a process ends, and whatever its streams are doing then, it ends: in
// bounded time, with its own exit status, leaving nothing behind.
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>

#include "softdevice/soft_debug.h"
#include "softdevice/soft_graph.h"
#include "softdevice/soft_ipc.h"
#include "softdevice/tests/device_test.h"
#include "softdevice/tests/forked_child.h"

namespace dipu::softdevice {
namespace {

// exit() waits two seconds at most; the rest is for a busy machine.
constexpr std::chrono::seconds kLongest{15};

[[noreturn]] void sleepForEver() {
  for (;;) pause();
}

soft_stream* newStream(int32_t device) {
  soft_stream* stream = nullptr;
  CHILD_EXPECT(soft_stream_create(device, 0, SOFT_STREAM_NON_BLOCKING,
                                  &stream) == SOFT_OK);
  return stream;
}

void waitUntil(const std::atomic<bool>& flag) {
  while (!flag) std::this_thread::yield();
}

// What the streams are doing. Each leaves its work in flight for ever.

std::atomic<bool> task_runs{false};

void runEndlessTask() {
  CHILD_EXPECT(launch(newStream(0), [] {
                 task_runs = true;
                 sleepForEver();
               }) == SOFT_OK);
  waitUntil(task_runs);
}

void hangByFault() {
  CHILD_EXPECT(soft_fault_add("hang=1") == SOFT_OK);
  soft_stream* stream = newStream(0);
  CHILD_EXPECT(launch(stream, [] {}) == SOFT_OK);
  CHILD_EXPECT(soft_stream_query(stream) == SOFT_NOT_READY);
}

// A full ring behind a stream that stands.
void queueWork() {
  CHILD_EXPECT(soft_fault_add("hang=1") == SOFT_OK);
  soft_stream* stream = newStream(0);
  for (int i = 0; i < 1000; ++i) {
    CHILD_EXPECT(launch(stream, [] {}) == SOFT_OK);
  }
}

void waitForAnEventThatNeverComes() {
  CHILD_EXPECT(soft_fault_add("hang=1") == SOFT_OK);
  soft_stream* hung = newStream(0);
  soft_stream* waiting = newStream(1);
  static soft_event* event = nullptr;
  CHILD_EXPECT(soft_event_create(0, 0, &event) == SOFT_OK);
  CHILD_EXPECT(launch(hung, [] {}) == SOFT_OK);
  CHILD_EXPECT(soft_event_record(event, hung) == SOFT_OK);
  CHILD_EXPECT(soft_stream_wait_event(waiting, event) == SOFT_OK);
  CHILD_EXPECT(launch(waiting, [] {}) == SOFT_OK);
}

// Replays follow one another for as long as the process lives.
void replayGraphs() {
  static std::atomic<int> replays{0};
  soft_stream* stream = newStream(0);
  CHILD_EXPECT(soft_stream_begin_capture(stream, SOFT_CAPTURE_RELAXED) ==
               SOFT_OK);
  for (int i = 0; i < 20; ++i) {
    CHILD_EXPECT(launch(stream, [] { ++replays; }) == SOFT_OK);
  }
  static soft_graph* graph = nullptr;
  static soft_graph_exec* exec = nullptr;
  CHILD_EXPECT(soft_stream_end_capture(stream, &graph) == SOFT_OK);
  CHILD_EXPECT(soft_graph_instantiate(graph, &exec) == SOFT_OK);
  std::thread([stream] {
    while (soft_graph_launch(exec, stream) == SOFT_OK) continue;
    sleepForEver();
  }).detach();
  while (replays == 0) std::this_thread::yield();
}

// A thread blocks in a call that cannot return.
void blockAThread() {
  static std::atomic<bool> blocks{false};
  hangByFault();
  std::thread([] {
    blocks = true;
    soft_device_synchronize(0);
    sleepForEver();
  }).detach();
  waitUntil(blocks);
}

struct Situation {
  const char* name;
  void (*prepare)();
};
constexpr Situation kSituations[] = {
    {"Idle", [] { CHILD_EXPECT(launch(newStream(0), [] {}) == SOFT_OK); }},
    {"RunningTask", runEndlessTask},
    {"QueuedWork", queueWork},
    {"WaitForAnEvent", waitForAnEventThatNeverComes},
    {"HungStream", hangByFault},
    {"ReplayedGraph", replayGraphs},
    {"BlockedThread", blockAThread},
};

// How the process ends.

constexpr int kStatus = 7;

void exitHere() { std::exit(kStatus); }

void exitFromAnotherThread() {
  std::thread(exitHere).detach();
  sleepForEver();
}

void exitInAHostFunction() {
  CHILD_EXPECT(soft_launch_host_func(
                   newStream(1), [](void*) { exitHere(); }, nullptr) ==
               SOFT_OK);
  sleepForEver();
}

void fail() { throw std::runtime_error("on purpose"); }
void throwPastEverything() noexcept { fail(); }

struct Ending {
  const char* name;
  void (*end)();
  int status;
};
const Ending kEndings[] = {
    {"Exit", exitHere, kStatus},
    {"ExitFromAnotherThread", exitFromAnotherThread, kStatus},
    {"ExitInAHostFunction", exitInAHostFunction, kStatus},
    {"QuickExit", [] { std::quick_exit(kStatus); }, kStatus},
    {"ImmediateExit", [] { std::_Exit(kStatus); }, kStatus},
    {"UncaughtException", throwPastEverything, kSignalled + SIGABRT},
};

void setSettings() {
  setenv("SOFTDEVICE_COUNT", "2", 1);
  setenv("SOFTDEVICE_MEMORY", "64M", 1);
}

class ExitTest : public ::testing::TestWithParam<int> {};

// Sanitizers report what they find by another exit status.
TEST_P(ExitTest, EndsTheProcessInBoundedTime) {
  const Situation& situation = kSituations[GetParam()];
  for (const Ending& ending : kEndings) {
    SCOPED_TRACE(ending.name);
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(runInChild([&] {
                setSettings();
                const rlimit no_core = {0, 0};
                setrlimit(RLIMIT_CORE, &no_core);
                situation.prepare();
                ending.end();
              }),
              ending.status);
    EXPECT_LT(std::chrono::steady_clock::now() - start, kLongest);
  }
}

INSTANTIATE_TEST_SUITE_P(Situations, ExitTest,
                         ::testing::Range(0, int{std::size(kSituations)}),
                         [](const ::testing::TestParamInfo<int>& info) {
                           return std::string(kSituations[info.param].name);
                         });

// Handlers that the program registered run before the device's own when they
// came later, and after it when they came earlier.
TEST(ExitHandlerTest, TheDeviceWorksUntilItsOwnHandlerRuns) {
  EXPECT_EQ(
      runInChild([] {
        setSettings();
        std::atexit([] {
          CHILD_EXPECT(soft_device_synchronize(0) == SOFT_NOT_PERMITTED);
          CHILD_EXPECT(std::strstr(soft_last_message(), "process is exiting"));
        });
        newStream(0);
        std::atexit([] {
          CHILD_EXPECT(launch(newStream(0), [] {}) == SOFT_OK);
          CHILD_EXPECT(soft_device_synchronize(0) == SOFT_OK);
        });
        std::exit(kStatus);
      }),
      kStatus);
}

// What a finished task leaves to a static object that exit() destroys.
TEST(ExitHandlerTest, ARunningTaskEndsBeforeStaticObjectsDo) {
  EXPECT_EQ(runInChild([] {
              setSettings();
              static std::atomic<bool> entered{false};
              static std::atomic<bool> finished{false};
              std::atexit([] { CHILD_EXPECT(finished); });
              launch(newStream(0), [] {
                entered = true;
                usleep(200000);
                finished = true;
              });
              waitUntil(entered);
              std::exit(kStatus);
            }),
            kStatus);
}

// Memory that other processes could map has no name that would stay behind,
// and what is not mapped any more is the system's.
TEST(ExitMemoryTest, SharedMemoryEndsWithTheProcess) {
  int report[2];
  ASSERT_EQ(pipe(report), 0);
  EXPECT_EQ(runInChild([&] {
              setSettings();
              void* ptr = nullptr;
              soft_ipc_handle handle;
              CHILD_EXPECT(soft_malloc(0, 8 << 20, &ptr) == SOFT_OK);
              CHILD_EXPECT(soft_ipc_export_memory(ptr, &handle) == SOFT_OK);
              CHILD_EXPECT(write(report[1], &handle, sizeof(handle)) ==
                           sizeof(handle));
              std::exit(kStatus);
            }),
            kStatus);
  soft_ipc_handle handle;
  ASSERT_EQ(read(report[0], &handle, sizeof(handle)), ssize_t{sizeof(handle)});
  close(report[0]);
  close(report[1]);
  EXPECT_EQ(runInChild([&] {
              setSettings();
              void* ptr = nullptr;
              CHILD_EXPECT(soft_ipc_open_memory(0, &handle, &ptr) ==
                           SOFT_INVALID_HANDLE);
              CHILD_EXPECT(std::strstr(soft_last_message(), "has ended"));
            }),
            0);
}

}  // namespace
}  // namespace dipu::softdevice
