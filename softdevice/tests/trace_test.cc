// SPDX-License-Identifier: Apache-2.0
//
// Traces and counters.
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "softdevice/soft_debug.h"
#include "softdevice/tests/graph_test_base.h"

namespace dipu::softdevice {
namespace {

class TraceTest : public GraphTestBase {
 protected:
  void TearDown() override {
    soft_set_label(nullptr);
    EXPECT_OK(soft_trace_stop());
    EXPECT_OK(soft_counters_stop());
    EXPECT_OK(soft_counters_reset());
    DeviceTest::TearDown();
  }
  static std::vector<soft_trace_entry> read(uint64_t* out_dropped = nullptr) {
    std::size_t count = 0;
    EXPECT_OK(soft_trace_read(nullptr, 0, &count, nullptr));
    std::vector<soft_trace_entry> entries(count);
    EXPECT_OK(soft_trace_read(entries.data(), count, &count, out_dropped));
    return entries;
  }
  static std::vector<soft_counter> readCounters() {
    std::size_t count = 0;
    EXPECT_OK(soft_counters_read(nullptr, 0, &count));
    std::vector<soft_counter> counters(count);
    EXPECT_OK(soft_counters_read(counters.data(), count, &count));
    return counters;
  }
  static soft_status launchNamed(soft_stream* stream, const char* name) {
    return soft_launch_named(stream, name, [](void*) {}, nullptr, 0);
  }
};

std::string kinds(const std::vector<soft_trace_entry>& entries) {
  std::string text;
  for (const soft_trace_entry& entry : entries) {
    text += (text.empty() ? "" : ", ") +
            std::string(soft_trace_kind_name(entry.kind));
  }
  return text;
}

TEST_F(TraceTest, TellsEveryCallInOrder) {
  soft_stream* stream = makeStream(0);
  soft_stream* other = makeStream(1);
  soft_event* event = nullptr;
  ASSERT_OK(soft_event_create(0, SOFT_EVENT_DEFAULT, &event));
  ASSERT_OK(soft_trace_start(100));
  int* data = makeArray<int>(0, 8);
  void* pinned = nullptr;
  ASSERT_OK(soft_host_malloc(32, &pinned));
  int host[8] = {};
  ASSERT_OK(soft_memset_async(data, 1, 32, stream));
  ASSERT_OK(soft_memcpy_async(pinned, data, 32, stream));
  ASSERT_OK(soft_memcpy_async(host, data, 16, stream));
  ASSERT_OK(launchNamed(stream, "adds"));
  ASSERT_OK(soft_launch_host_func(stream, [](void*) {}, nullptr));
  ASSERT_OK(soft_event_record(event, stream));
  ASSERT_OK(soft_stream_wait_event(other, event));
  ASSERT_OK(soft_event_synchronize(event));
  ASSERT_OK(soft_stream_synchronize(stream));
  ASSERT_OK(soft_memcpy(host, data, 32));
  ASSERT_OK(soft_device_synchronize(1));
  ASSERT_OK(soft_host_free(pinned));
  ASSERT_OK(soft_free(data));
  ASSERT_OK(soft_trace_stop());
  ASSERT_OK(launchNamed(stream, "unseen"));
  const auto entries = read();
  EXPECT_EQ(kinds(entries),
            "allocate, host allocate, fill, copy, copy, kernel, host function, "
            "event record, wait event, synchronize, synchronize, copy, "
            "synchronize, host free, free");
  const soft_trace_entry& record = entries[7];
  const soft_trace_entry& wait = entries[8];
  EXPECT_EQ(record.stream, soft_stream_id(stream));
  EXPECT_EQ(wait.stream, soft_stream_id(other));
  EXPECT_EQ(wait.other_stream, soft_stream_id(stream));
  EXPECT_EQ(wait.position, record.position);
  EXPECT_EQ(record.position, entries[6].position + 1) << "the time stamp";
  EXPECT_EQ(entries[2].bytes, 32u);
  EXPECT_EQ(entries[4].bytes, 16u);
  EXPECT_STREQ(entries[5].name, "adds");
  EXPECT_EQ(entries[14].bytes, 512u) << "what the allocation takes";
  ASSERT_OK(soft_event_destroy(event));
}

TEST_F(TraceTest, EntriesTellTimesAndPlaces) {
  soft_stream* stream = makeStream(1);
  ASSERT_OK(soft_trace_start(100));
  Latch latch;
  latch.hold(stream);
  latch.waitUntilEntered();
  ASSERT_OK(launchNamed(stream, nullptr));
  auto entries = read();
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_NE(entries[0].started_ns, 0);
  EXPECT_EQ(entries[0].finished_ns, 0);
  EXPECT_EQ(entries[0].status, SOFT_NOT_READY);
  EXPECT_EQ(entries[1].started_ns, 0);
  latch.open();
  ASSERT_OK(soft_stream_synchronize(stream));
  entries = read();
  ASSERT_EQ(entries.size(), 3u);
  for (uint64_t i = 0; i < 2; ++i) {
    const soft_trace_entry& entry = entries[i];
    EXPECT_EQ(entry.sequence, i + 1);
    EXPECT_EQ(entry.device, 1);
    EXPECT_EQ(entry.stream, soft_stream_id(stream));
    EXPECT_EQ(entry.position, i + 1);
    EXPECT_EQ(entry.other_stream, SOFT_TRACE_NO_STREAM);
    EXPECT_LE(entry.called_ns, entry.started_ns);
    EXPECT_LE(entry.started_ns, entry.finished_ns);
    EXPECT_EQ(entry.status, SOFT_OK);
    EXPECT_NE(std::strstr(entry.name, "trace_test+0x"), nullptr) << entry.name;
  }
  EXPECT_LE(entries[0].finished_ns, entries[1].started_ns);
}

TEST_F(TraceTest, FailuresAreTold) {
  soft_stream* stream = makeStream(0);
  ASSERT_OK(soft_trace_start(100));
  ASSERT_OK(launch(stream, [] { soft_task_fail(SOFT_ILLEGAL_ADDRESS, "x"); }));
  ASSERT_OK(launch(stream, [] { throw 1; }));
  ASSERT_OK(launchNamed(stream, "fine"));
  EXPECT_SOFT(SOFT_ILLEGAL_ADDRESS, soft_stream_synchronize(stream));
  void* ptr = nullptr;
  EXPECT_SOFT(SOFT_OUT_OF_MEMORY, soft_malloc(0, kTestMemory * 2, &ptr));
  const auto entries = read();
  ASSERT_EQ(entries.size(), 5u);
  EXPECT_EQ(entries[0].status, SOFT_ILLEGAL_ADDRESS);
  EXPECT_EQ(entries[1].status, SOFT_LAUNCH_FAILURE);
  EXPECT_EQ(entries[2].status, SOFT_OK);
  EXPECT_EQ(entries[3].status, SOFT_ILLEGAL_ADDRESS) << "the synchronize";
  EXPECT_EQ(entries[4].status, SOFT_OUT_OF_MEMORY);
}

TEST_F(TraceTest, KeepsTheLastEntriesAndCountsTheOthers) {
  soft_stream* stream = makeStream(0);
  ASSERT_OK(soft_trace_start(10));
  for (int i = 0; i < 25; ++i) ASSERT_OK(launchNamed(stream, "k"));
  uint64_t dropped = 0;
  auto entries = read(&dropped);
  ASSERT_EQ(entries.size(), 10u);
  EXPECT_EQ(dropped, 15u);
  EXPECT_EQ(entries[0].sequence, 16u);
  EXPECT_EQ(entries[9].sequence, 25u);
  ASSERT_OK(soft_trace_start(20));
  EXPECT_EQ(read(&dropped).size(), 0u);
  EXPECT_EQ(dropped, 0u);
  ASSERT_OK(launchNamed(stream, "k"));
  entries = read();
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].sequence, 1u);
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_trace_start(0));
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_trace_start(std::size_t{1} << 30));
  std::size_t count = 0;
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_trace_read(nullptr, 1, &count, nullptr));
  EXPECT_SOFT(SOFT_INVALID_VALUE,
              soft_trace_read(nullptr, 0, nullptr, nullptr));
}

TEST_F(TraceTest, LabelsBelongToTheCallingThread) {
  soft_stream* stream = makeStream(0);
  ASSERT_OK(soft_trace_start(10));
  soft_set_label("aten::add");
  ASSERT_OK(launchNamed(stream, "a"));
  std::thread([&] { ASSERT_OK(launchNamed(stream, "b")); }).join();
  const std::string longer(100, 'x');
  soft_set_label(longer.c_str());
  ASSERT_OK(launchNamed(stream, "c"));
  soft_set_label(nullptr);
  ASSERT_OK(launchNamed(stream, "d"));
  const auto entries = read();
  ASSERT_EQ(entries.size(), 4u);
  EXPECT_STREQ(entries[0].label, "aten::add");
  EXPECT_STREQ(entries[1].label, "");
  EXPECT_EQ(entries[2].label, longer.substr(0, sizeof(entries[2].label) - 1));
  EXPECT_STREQ(entries[3].label, "");
}

TEST_F(TraceTest, CountersSumPerKernel) {
  soft_stream* streams[] = {makeStream(0), makeStream(1)};
  ASSERT_OK(launchNamed(streams[0], "before"));
  ASSERT_OK(soft_counters_start());
  for (int i = 0; i < 6; ++i) ASSERT_OK(launchNamed(streams[i % 2], "b"));
  Latch latch;
  latch.hold(streams[0]);
  ASSERT_OK(launchNamed(streams[0], "a"));
  latch.open();
  ASSERT_OK(soft_device_synchronize(0));
  ASSERT_OK(soft_device_synchronize(1));
  ASSERT_OK(soft_counters_stop());
  ASSERT_OK(launchNamed(streams[0], "after"));
  const auto counters = readCounters();
  ASSERT_EQ(counters.size(), 3u);
  EXPECT_STREQ(counters[0].name, "a");
  EXPECT_EQ(counters[0].launches, 1u);
  EXPECT_EQ(counters[0].total_ns, counters[0].min_ns);
  EXPECT_STREQ(counters[1].name, "b");
  EXPECT_EQ(counters[1].launches, 6u);
  EXPECT_LE(counters[1].min_ns, counters[1].max_ns);
  EXPECT_GE(counters[1].total_ns, 6 * counters[1].min_ns);
  EXPECT_LE(counters[1].total_ns, 6 * counters[1].max_ns);
  EXPECT_NE(std::strstr(counters[2].name, "trace_test+0x"), nullptr);
  ASSERT_OK(soft_counters_reset());
  EXPECT_EQ(readCounters().size(), 0u);
  std::size_t count = 0;
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_counters_read(nullptr, 1, &count));
}

TEST_F(TraceTest, ReplaysTellTheirNodes) {
  soft_stream* stream = makeStream(0);
  void* data = makeArray<char>(0, 100);
  begin(stream);
  ASSERT_OK(launchNamed(stream, "node"));
  ASSERT_OK(soft_memset_async(data, 1, 100, stream));
  soft_graph_exec* exec = endAndInstantiate(stream);
  ASSERT_OK(soft_trace_start(10));
  ASSERT_OK(soft_counters_start());
  for (int i = 0; i < 2; ++i) ASSERT_OK(soft_graph_launch(exec, stream));
  ASSERT_OK(soft_stream_synchronize(stream));
  ASSERT_OK(soft_trace_stop());
  uint64_t kernels = 0;
  uint64_t fills = 0;
  uint64_t replays = 0;
  for (const soft_trace_entry& entry : read()) {
    if (entry.kind == SOFT_TRACE_SYNCHRONIZE) continue;
    EXPECT_NE(entry.finished_ns, 0);
    EXPECT_NE(entry.position, 0u);
    replays += entry.kind == SOFT_TRACE_GRAPH;
    if (entry.kind == SOFT_TRACE_KERNEL) {
      ++kernels;
      EXPECT_STREQ(entry.name, "node");
    } else if (entry.kind == SOFT_TRACE_FILL) {
      ++fills;
      EXPECT_EQ(entry.bytes, 100u);
    }
  }
  EXPECT_EQ(replays, 2u);
  EXPECT_EQ(kernels, 2u);
  EXPECT_EQ(fills, 2u);
  const auto counters = readCounters();
  ASSERT_EQ(counters.size(), 1u);
  EXPECT_STREQ(counters[0].name, "node");
  EXPECT_EQ(counters[0].launches, 2u);
  ASSERT_OK(soft_graph_exec_destroy(exec));
}

TEST_F(TraceTest, SwitchingWhileOthersLaunchIsSafe) {
  std::atomic<bool> stop{false};
  std::thread launcher([&] {
    soft_stream* stream = makeStream(0);
    while (!stop) ASSERT_OK(launchNamed(stream, "k"));
    ASSERT_OK(soft_stream_synchronize(stream));
  });
  for (int i = 0; i < 200; ++i) {
    ASSERT_OK(soft_trace_start(1 + static_cast<std::size_t>(i) % 7));
    ASSERT_OK(soft_counters_start());
    read();
    ASSERT_OK(soft_trace_stop());
    ASSERT_OK(soft_counters_reset());
    ASSERT_OK(soft_counters_stop());
  }
  stop = true;
  launcher.join();
}

}  // namespace
}  // namespace dipu::softdevice
