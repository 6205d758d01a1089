// SPDX-License-Identifier: Apache-2.0
//
// Forked children: of a process that has not used a device yet, and of one
// that has.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <set>
#include <string>
#include <thread>

#include "softdevice/tests/declared.h"
#include "softdevice/tests/device_test.h"
#include "softdevice/tests/every_call.h"
#include "softdevice/tests/forked_child.h"

namespace dipu::softdevice {
namespace {

void useDevice(int32_t device) {
  static std::atomic<bool> ran;
  ran = false;
  void* data = nullptr;
  soft_stream* stream = nullptr;
  CHILD_EXPECT(soft_malloc(device, 1 << 20, &data) == SOFT_OK);
  CHILD_EXPECT(soft_stream_create(device, 0, 0, &stream) == SOFT_OK);
  CHILD_EXPECT(soft_memset_async(data, 1, 1 << 20, stream) == SOFT_OK);
  CHILD_EXPECT(launch(stream, [] { ran = true; }) == SOFT_OK);
  CHILD_EXPECT(soft_stream_synchronize(stream) == SOFT_OK);
  CHILD_EXPECT(ran);
  CHILD_EXPECT(soft_stream_destroy(stream) == SOFT_OK);
  CHILD_EXPECT(soft_free(data) == SOFT_OK);
}

void setSettings() {
  setenv("SOFTDEVICE_COUNT", "2", 1);
  setenv("SOFTDEVICE_MEMORY", "64M", 1);
}

TEST(ForkBeforeUseTest, ParentAndChildrenEachHaveTheirOwnDevices) {
  EXPECT_EQ(runInChild([] {
              setSettings();
              int32_t count = 0;
              CHILD_EXPECT(soft_device_count(&count) == SOFT_OK);
              for (int i = 0; i < 3; ++i) {
                // Counting the devices is no use of one.
                CHILD_EXPECT(runInChild([] {
                               useDevice(1);
                               std::exit(5);
                             }) == 5);
              }
              useDevice(0);
              std::exit(6);
            }),
            6);
}

TEST(ForkBeforeUseTest, AThreadMayFork) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the sanitizer lets no child of several threads start one";
#endif
  EXPECT_EQ(runInChild([] {
              setSettings();
              std::thread([] {
                CHILD_EXPECT(runInChild([] { useDevice(0); }) == 0);
              }).join();
              useDevice(0);
            }),
            0);
}

// What needs no device: texts, facts about a handle, the calling thread's own
// state, and the end of objects that lie in host memory. And what only a task
// calls, of which there is none in a forked child.
const std::set<std::string> kWithoutDevice = {
    "soft_current_stream",   "soft_event_destroy",
    "soft_graph_destroy",    "soft_graph_exec_destroy",
    "soft_graph_node_count", "soft_graph_write_dot",
    "soft_last_message",     "soft_set_label",
    "soft_status_name",      "soft_stream_address_map",
    "soft_stream_device",    "soft_stream_flags",
    "soft_stream_id",        "soft_stream_priority",
    "soft_task_fail",        "soft_team_begin",
    "soft_team_end",         "soft_thread_exchange_capture_mode",
    "soft_trace_kind_name",  "soft_translate",
    "soft_vm_granularity",
};

class ForkAfterUseTest : public DeviceTest {
 protected:
  static void expectRefused(const Calls& calls, Output* out) {
    for (const auto& [name, call] : calls) {
      std::memset(out, 0x5a, sizeof(*out));
      childExpect(call() == SOFT_NOT_PERMITTED, name.c_str(), __LINE__);
      childExpect(std::strstr(soft_last_message(), "forked"), name.c_str(),
                  __LINE__);
      childExpect(std::all_of(std::begin(out->bytes), std::end(out->bytes),
                              [](char byte) { return byte == 0x5a; }),
                  name.c_str(), __LINE__);
    }
  }
};

TEST_F(ForkAfterUseTest, EveryFunctionIsTried) {
  Output out;
  std::set<std::string> tried = kWithoutDevice;
  for (const auto& call : makeCalls(Handles{}, &out)) {
    tried.insert(call.first);
  }
  EXPECT_EQ(tried,
            declaredFunctions(
                {"softdevice/softdevice.h", "softdevice/soft_copy_2d.h",
                 "softdevice/soft_debug.h", "softdevice/soft_graph.h",
                 "softdevice/soft_ipc.h", "softdevice/soft_virtual_memory.h"},
                "SOFT_API ", "soft_"));
}

TEST_F(ForkAfterUseTest, EveryCallOfTheChildIsAClearError) {
  const Handles handles = makeHandles();
  Output out;
  const Calls calls = makeCalls(handles, &out);
  EXPECT_EQ(
      runInChild([&] {
        expectRefused(calls, &out);
        // And every call of the child's child.
        CHILD_EXPECT(runInChild([&] { expectRefused(calls, &out); }) == 0);
        destroyHandles(handles);
        std::exit(3);  // exit handlers must not wait for absent workers
      }),
      3);
  // Nothing of that has touched the parent.
  EXPECT_OK(soft_graph_launch(handles.exec, handles.stream));
  EXPECT_OK(soft_event_record(handles.event, handles.stream));
  EXPECT_OK(soft_event_record(handles.shared_event, handles.stream));
  EXPECT_OK(soft_stream_synchronize(handles.stream));
  destroyHandles(handles);
}

// The child inherits locks in whatever state other threads had them.
TEST_F(ForkAfterUseTest, LocksThatOtherThreadsHeldDoNotHangTheChild) {
  const Handles handles = makeHandles();
  Output out;
  const Calls calls = makeCalls(handles, &out);
  ASSERT_OK(soft_trace_start(64));
  ASSERT_OK(soft_counters_start());
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    soft_stream* const stream = makeStream(0);
    while (!stop) {
      void* data = makeArray<char>(0, 8);
      soft_launch_named(stream, "nothing", [](void*) {}, nullptr, 0);
      soft_fault_add("launch=1000000");
      soft_fault_clear();
      soft_counters_reset();
      soft_host_register(&stop, 1);
      soft_host_unregister(&stop);
      soft_free(data);
    }
  });
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(runInChild([&] { expectRefused(calls, &out); }), 0);
  }
  stop = true;
  busy.join();
  EXPECT_OK(soft_trace_stop());
  EXPECT_OK(soft_counters_stop());
  destroyHandles(handles);
}

}  // namespace
}  // namespace dipu::softdevice
