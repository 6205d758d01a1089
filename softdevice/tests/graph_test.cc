// SPDX-License-Identifier: Apache-2.0
//
// What can be captured, and its replay.
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>
#include <vector>

#include "softdevice/soft_debug.h"
#include "softdevice/tests/graph_test_base.h"

namespace dipu::softdevice {
namespace {

using GraphTest = GraphTestBase;

TEST_F(GraphTest, NothingRunsBeforeTheReplayAndAllOfItInOrderThen) {
  soft_stream* stream = makeStream(0);
  std::vector<int> seen;
  auto* out = &seen;
  begin(stream);
  for (int i = 0; i < 5; ++i) {
    ASSERT_OK(launch(stream, [out, i] { out->push_back(i); }));
  }
  ASSERT_OK(soft_launch_host_func(
      stream,
      [](void* list) { static_cast<std::vector<int>*>(list)->push_back(5); },
      &seen));
  soft_graph* graph = end(stream);
  ASSERT_OK(soft_stream_synchronize(stream));
  EXPECT_TRUE(seen.empty());
  EXPECT_EQ(nodeCount(graph), 6u);
  soft_graph_exec* exec = instantiate(graph);
  EXPECT_OK(soft_graph_destroy(graph));
  for (int replay = 0; replay < 2; ++replay) {
    ASSERT_OK(soft_graph_launch(exec, stream));
  }
  ASSERT_OK(soft_stream_synchronize(stream));
  EXPECT_EQ(seen, (std::vector<int>{0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5}));
  EXPECT_OK(soft_graph_exec_destroy(exec));
}

TEST_F(GraphTest, CopiesAndFillsSeeTheInputsOfTheReplay) {
  constexpr std::size_t kCount = 1000;
  soft_stream* stream = makeStream(0);
  void* pinned = nullptr;
  ASSERT_OK(soft_host_malloc(kCount, &pinned));
  auto* host = static_cast<unsigned char*>(pinned);
  auto* device = makeArray<unsigned char>(0, kCount);
  auto* peer = makeArray<unsigned char>(1, kCount);
  begin(stream);
  ASSERT_OK(soft_memcpy_async(device, host, kCount, stream));
  ASSERT_OK(soft_memset_async(device + 10, 7, 20, stream));
  ASSERT_OK(soft_memcpy_async(peer, device, kCount, stream));
  ASSERT_OK(soft_memcpy_async(host, peer, kCount, stream));
  soft_graph_exec* exec = endAndInstantiate(stream);
  for (unsigned char input : {1, 2, 3}) {
    std::memset(host, input, kCount);
    ASSERT_OK(soft_graph_launch(exec, stream));
    ASSERT_OK(soft_stream_synchronize(stream));
    for (std::size_t i = 0; i < kCount; ++i) {
      ASSERT_EQ(host[i], i >= 10 && i < 30 ? 7 : input) << i;
    }
  }
  EXPECT_OK(soft_graph_exec_destroy(exec));
  EXPECT_OK(soft_host_free(pinned));
}

TEST_F(GraphTest, ATaskThatChangesItsPayloadDoesNotChangeTheNextReplay) {
  struct Large {
    int numbers[500];
    int* sum;
  };
  static_assert(sizeof(Large) > SOFT_INLINE_PAYLOAD);
  soft_stream* stream = makeStream(0);
  int sum = 0;
  auto payload = std::make_unique<Large>();
  for (int& number : payload->numbers) number = 1;
  payload->sum = &sum;
  begin(stream);
  ASSERT_OK(soft_launch(
      stream,
      [](void* data) {
        auto* large = static_cast<Large*>(data);
        EXPECT_EQ(reinterpret_cast<uintptr_t>(large) % 16, 0u);
        for (int& number : large->numbers) {
          *large->sum += number;
          number = 0;
        }
      },
      payload.get(), sizeof(Large)));
  payload.reset();
  soft_graph_exec* exec = endAndInstantiate(stream);
  for (int replay = 1; replay <= 3; ++replay) {
    ASSERT_OK(soft_graph_launch(exec, stream));
    ASSERT_OK(soft_stream_synchronize(stream));
    EXPECT_EQ(sum, 500 * replay);
  }
  EXPECT_OK(soft_graph_exec_destroy(exec));
}

TEST_F(GraphTest, AnExecMayGoWhileItsReplayIsPending) {
  soft_stream* stream = makeStream(0);
  static std::atomic<int> runs;
  runs = 0;
  begin(stream);
  ASSERT_OK(launch(stream, [] { ++runs; }));
  soft_graph_exec* exec = endAndInstantiate(stream);
  Latch latch;
  latch.hold(stream);
  ASSERT_OK(soft_graph_launch(exec, stream));
  ASSERT_OK(soft_graph_launch(exec, stream));
  EXPECT_OK(soft_graph_exec_destroy(exec));
  latch.open();
  ASSERT_OK(soft_stream_synchronize(stream));
  EXPECT_EQ(runs, 2);
  EXPECT_OK(soft_graph_exec_destroy(nullptr));
  EXPECT_OK(soft_graph_destroy(nullptr));
}

TEST_F(GraphTest, AThousandReplays) {
  constexpr int kNodes = 20;
  soft_stream* stream = makeStream(0);
  static long sum;
  sum = 0;
  begin(stream);
  for (int i = 0; i < kNodes; ++i) {
    ASSERT_OK(launch(stream, [i] { sum += i; }));
  }
  soft_graph_exec* exec = endAndInstantiate(stream);
  for (int i = 0; i < 1000; ++i) ASSERT_OK(soft_graph_launch(exec, stream));
  ASSERT_OK(soft_stream_synchronize(stream));
  EXPECT_EQ(sum, 1000L * kNodes * (kNodes - 1) / 2);
  EXPECT_OK(soft_graph_exec_destroy(exec));
}

TEST_F(GraphTest, EventsWithTimingAreStampedByEachReplay) {
  soft_stream* stream = makeStream(0);
  soft_event* marks[] = {makeEvent(0, SOFT_EVENT_DEFAULT),
                         makeEvent(0, SOFT_EVENT_DEFAULT)};
  static std::atomic<bool> slow;
  begin(stream);
  ASSERT_OK(soft_event_record(marks[0], stream));
  ASSERT_OK(launch(stream, [] {
    const int ms = slow ? 5 : 0;
    std::this_thread::sleep_for(std::chrono::milliseconds(ms));
  }));
  ASSERT_OK(soft_event_record(marks[1], stream));
  soft_graph* graph = end(stream);
  EXPECT_EQ(nodeCount(graph), 3u);
  soft_graph_exec* exec = instantiate(graph);
  EXPECT_OK(soft_graph_destroy(graph));
  double ms = 0.0;
  EXPECT_SOFT(SOFT_NOT_READY, soft_event_elapsed(marks[0], marks[1], &ms));
  slow = false;
  ASSERT_OK(soft_graph_launch(exec, stream));
  ASSERT_OK(soft_stream_synchronize(stream));
  ASSERT_OK(soft_event_elapsed(marks[0], marks[1], &ms));
  EXPECT_GE(ms, 0.0);
  slow = true;
  ASSERT_OK(soft_graph_launch(exec, stream));
  ASSERT_OK(soft_stream_synchronize(stream));
  ASSERT_OK(soft_event_elapsed(marks[0], marks[1], &ms));
  EXPECT_GE(ms, 5.0);
  for (soft_event* mark : marks) EXPECT_OK(soft_event_destroy(mark));
  ASSERT_OK(soft_graph_launch(exec, stream));
  ASSERT_OK(soft_stream_synchronize(stream));
  EXPECT_OK(soft_graph_exec_destroy(exec));
}

TEST_F(GraphTest, AFailureNamesItsNodeAndTheRestRuns) {
  soft_stream* stream = makeStream(0);
  static std::atomic<bool> rest;
  rest = false;
  begin(stream);
  ASSERT_OK(launch(stream, [] {}));
  ASSERT_OK(soft_launch_named(
      stream, "divide",
      [](void*) { throw std::runtime_error("division by zero"); }, nullptr, 0));
  ASSERT_OK(launch(stream, [] { rest = true; }));
  soft_graph_exec* exec = endAndInstantiate(stream);
  ASSERT_OK(soft_graph_launch(exec, stream));
  EXPECT_SOFT(SOFT_LAUNCH_FAILURE, soft_stream_synchronize(stream));
  EXPECT_STREQ(soft_last_message(), "graph node 1 (divide): division by zero");
  EXPECT_TRUE(rest);
  EXPECT_OK(soft_graph_exec_destroy(exec));
}

TEST_F(GraphTest, UpdateChangesLaterReplaysOnly) {
  soft_stream* stream = makeStream(0);
  std::vector<int> seen;
  auto* out = &seen;
  const auto capture = [&](int value) {
    begin(stream);
    EXPECT_OK(launch(stream, [out, value] { out->push_back(value); }));
    return end(stream);
  };
  soft_graph* graphs[] = {capture(1), capture(2)};
  begin(stream);
  ASSERT_OK(soft_launch_host_func(stream, [](void*) {}, nullptr));
  soft_graph* differs = end(stream);
  soft_graph_exec* exec = instantiate(graphs[0]);
  Latch latch;
  latch.hold(stream);
  ASSERT_OK(soft_graph_launch(exec, stream));
  ASSERT_OK(soft_graph_exec_update(exec, graphs[1]));
  ASSERT_OK(soft_graph_launch(exec, stream));
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_graph_exec_update(exec, differs));
  ASSERT_OK(soft_graph_launch(exec, stream));
  latch.open();
  ASSERT_OK(soft_stream_synchronize(stream));
  EXPECT_EQ(seen, (std::vector<int>{1, 2, 2}));
  for (soft_graph* graph : graphs) EXPECT_OK(soft_graph_destroy(graph));
  EXPECT_OK(soft_graph_destroy(differs));
  EXPECT_OK(soft_graph_exec_destroy(exec));
}

TEST_F(GraphTest, AResetEndsTheUseOfAGraph) {
  soft_stream* stream = makeStream(0);
  begin(stream);
  ASSERT_OK(launch(stream, [] {}));
  soft_graph_exec* exec = endAndInstantiate(stream);
  ASSERT_OK(soft_device_reset(0));
  stream = makeStream(0);
  EXPECT_SOFT(SOFT_INVALID_HANDLE, soft_graph_launch(exec, stream));
  EXPECT_OK(soft_graph_exec_destroy(exec));
}

TEST_F(GraphTest, TheDotFileHasNodesAndDependencies) {
  soft_stream* stream = makeStream(0);
  soft_stream* other = makeStream(1);
  begin(stream);
  ASSERT_OK(soft_launch_named(stream, "a \"b\"", [](void*) {}, nullptr, 0));
  order(stream, other);
  ASSERT_OK(soft_launch_host_func(other, [](void*) {}, nullptr));
  order(other, stream);
  ASSERT_OK(launch(stream, [] {}));
  soft_graph* graph = end(stream);
  const std::string path = ::testing::TempDir() + "/graph.dot";
  ASSERT_OK(soft_graph_write_dot(graph, path.c_str()));
  std::ifstream in(path);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  for (const char* part : {"digraph", "kernel a \\\"b\\\"", "host function",
                           "n0 -> n1", "n0 -> n2", "n1 -> n2", "device 1"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_graph_write_dot(graph, "/no/folder/x"));
  EXPECT_OK(soft_graph_destroy(graph));
}

TEST_F(GraphTest, ReplaysAreCountedAndTraced) {
  soft_stream* stream = makeStream(0);
  begin(stream);
  for (int i = 0; i < 3; ++i) {
    ASSERT_OK(soft_launch_named(stream, "add", [](void*) {}, nullptr, 0));
  }
  soft_graph_exec* exec = endAndInstantiate(stream);
  ASSERT_OK(soft_counters_reset());
  ASSERT_OK(soft_counters_start());
  ASSERT_OK(soft_trace_start(10));
  ASSERT_OK(soft_graph_launch(exec, stream));
  ASSERT_OK(soft_graph_launch(exec, stream));
  ASSERT_OK(soft_stream_synchronize(stream));
  ASSERT_OK(soft_trace_stop());
  ASSERT_OK(soft_counters_stop());
  soft_counter counter{};
  std::size_t count = 0;
  ASSERT_OK(soft_counters_read(&counter, 1, &count));
  ASSERT_EQ(count, 1u);
  EXPECT_STREQ(counter.name, "add");
  EXPECT_EQ(counter.launches, 6u);
  soft_trace_entry entries[10];
  ASSERT_OK(soft_trace_read(entries, 10, &count, nullptr));
  int replays = 0;
  for (std::size_t i = 0; i < count; ++i) {
    // Kernels of the first replay may run before the second is enqueued.
    if (entries[i].kind != SOFT_TRACE_GRAPH) continue;
    ++replays;
    EXPECT_EQ(entries[i].stream, soft_stream_id(stream));
    EXPECT_EQ(entries[i].status, SOFT_OK);
  }
  EXPECT_EQ(replays, 2);
  EXPECT_OK(soft_graph_exec_destroy(exec));
}

TEST_F(GraphTest, ATaskCannotLaunch) {
  static soft_stream* stream;
  static soft_graph_exec* exec;
  static soft_status refused;
  stream = makeStream(0);
  begin(stream);
  ASSERT_OK(launch(stream, [] {}));
  exec = endAndInstantiate(stream);
  ASSERT_OK(launch(stream, [] { refused = soft_graph_launch(exec, stream); }));
  ASSERT_OK(soft_stream_synchronize(stream));
  EXPECT_EQ(refused, SOFT_NOT_PERMITTED);
  EXPECT_OK(soft_graph_exec_destroy(exec));
}

TEST_F(GraphTest, HandlesAreChecked) {
  soft_graph_exec* exec = nullptr;
  std::size_t count = 0;
  EXPECT_SOFT(SOFT_INVALID_HANDLE, soft_graph_node_count(nullptr, &count));
  EXPECT_SOFT(SOFT_INVALID_HANDLE, soft_graph_instantiate(nullptr, &exec));
  EXPECT_SOFT(SOFT_INVALID_HANDLE, soft_graph_launch(nullptr, makeStream(0)));
  EXPECT_SOFT(SOFT_INVALID_HANDLE, soft_graph_exec_update(nullptr, nullptr));
  EXPECT_SOFT(SOFT_INVALID_HANDLE, soft_graph_write_dot(nullptr, "x"));
}

}  // namespace
}  // namespace dipu::softdevice
