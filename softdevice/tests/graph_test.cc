// SPDX-License-Identifier: Apache-2.0
//
// What can be captured, and its replay.
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>
#include <vector>

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

// Two branches that wait for each other run only if they are beside each other.
TEST_F(GraphTest, BranchesRunBesideEachOtherAndAreJoined) {
  soft_stream* stream = makeStream(0);
  soft_stream* others[] = {makeStream(0), makeStream(1)};
  static std::atomic<int> arrived;
  static std::atomic<int> after;
  begin(stream);
  ASSERT_OK(launch(stream, [] { arrived = 0; }));
  for (soft_stream* other : others) {
    order(stream, other);
    ASSERT_OK(launch(other, [] {
      ++arrived;
      while (arrived < 3) std::this_thread::yield();
    }));
  }
  ASSERT_OK(launch(stream, [] {
    ++arrived;
    while (arrived < 3) std::this_thread::yield();
  }));
  for (soft_stream* other : others) order(other, stream);
  ASSERT_OK(launch(stream, [] { after = arrived.load(); }));
  soft_graph* graph = end(stream);
  EXPECT_EQ(nodeCount(graph), 5u);
  soft_graph_exec* exec = instantiate(graph);
  EXPECT_OK(soft_graph_destroy(graph));
  for (int replay = 0; replay < 50; ++replay) {
    ASSERT_OK(soft_graph_launch(exec, stream));
  }
  ASSERT_OK(soft_stream_synchronize(stream));
  EXPECT_EQ(after, 3);
  EXPECT_OK(soft_graph_exec_destroy(exec));
}

TEST_F(GraphTest, NodesRunOnTheDevicesOfTheirStreams) {
  soft_stream* streams[] = {makeStream(0), makeStream(1)};
  static int devices[2];
  begin(streams[0]);
  ASSERT_OK(launch(streams[0], [] {
    devices[0] = soft_stream_device(soft_current_stream());
  }));
  order(streams[0], streams[1]);
  ASSERT_OK(launch(streams[1], [] {
    devices[1] = soft_stream_device(soft_current_stream());
  }));
  order(streams[1], streams[0]);
  soft_graph_exec* exec = endAndInstantiate(streams[0]);
  // On a stream of either device.
  for (soft_stream* stream : streams) {
    devices[0] = devices[1] = -1;
    ASSERT_OK(soft_graph_launch(exec, stream));
    ASSERT_OK(soft_stream_synchronize(stream));
    EXPECT_EQ(devices[0], 0);
    EXPECT_EQ(devices[1], 1);
  }
  EXPECT_OK(soft_graph_exec_destroy(exec));
}

TEST_F(GraphTest, LaterWorkOfTheStreamWaitsForAllBranches) {
  soft_stream* stream = makeStream(0);
  soft_stream* other = makeStream(1);
  static std::atomic<int> order_seen;
  static std::atomic<bool> go;
  go = false;
  order_seen = 0;
  begin(stream);
  order(stream, other);  // before there is any node
  ASSERT_OK(launch(other, [] {
    while (!go) std::this_thread::yield();
    order_seen = 1;
  }));
  order(other, stream);  // and nothing after it
  soft_graph_exec* exec = endAndInstantiate(stream);
  Latch latch;
  latch.hold(stream);
  ASSERT_OK(soft_graph_launch(exec, stream));
  ASSERT_OK(launch(stream, [] { EXPECT_EQ(order_seen, 1); }));
  go = true;
  EXPECT_EQ(order_seen, 0) << "a branch must wait for what was before";
  latch.open();
  ASSERT_OK(soft_stream_synchronize(stream));
  EXPECT_EQ(order_seen, 1);
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

TEST_F(GraphTest, ReplaysOfOneExecNeverOverlap) {
  soft_stream* streams[] = {makeStream(0), makeStream(0), makeStream(1)};
  static std::atomic<int> inside;
  static std::atomic<int> most;
  static int runs;  // not atomic: replays are one after the other
  inside = most = runs = 0;
  begin(streams[0]);
  ASSERT_OK(launch(streams[0], [] {
    most = std::max<int>(most, ++inside);
    ++runs;
  }));
  ASSERT_OK(launch(streams[0], [] { --inside; }));
  soft_graph_exec* exec = endAndInstantiate(streams[0]);
  std::vector<std::thread> threads;
  for (soft_stream* stream : streams) {
    threads.emplace_back([&, stream] {
      for (int i = 0; i < 200; ++i) ASSERT_OK(soft_graph_launch(exec, stream));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (soft_stream* stream : streams) {
    ASSERT_OK(soft_stream_synchronize(stream));
  }
  EXPECT_EQ(most, 1);
  EXPECT_EQ(runs, 600);
  EXPECT_OK(soft_graph_exec_destroy(exec));
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

TEST_F(GraphTest, AGraphLaunchedInACaptureBecomesOneNode) {
  soft_stream* stream = makeStream(0);
  soft_stream* other = makeStream(1);
  static std::vector<int> seen;
  seen.clear();
  begin(stream);
  ASSERT_OK(launch(stream, [] { seen.push_back(2); }));
  order(stream, other);
  ASSERT_OK(launch(other, [] { seen.push_back(3); }));
  order(other, stream);
  soft_graph_exec* inner = endAndInstantiate(stream);
  begin(stream);
  soft_graph_exec* empty = endAndInstantiate(stream);

  begin(other);
  ASSERT_OK(launch(other, [] { seen.push_back(1); }));
  ASSERT_OK(soft_graph_launch(inner, other));
  ASSERT_OK(soft_graph_launch(empty, other));
  ASSERT_OK(launch(other, [] { seen.push_back(4); }));
  soft_graph* graph = end(other);
  EXPECT_EQ(nodeCount(graph), 4u);
  soft_graph_exec* exec = instantiate(graph);
  for (soft_graph_exec* done : {inner, empty}) {
    EXPECT_OK(soft_graph_exec_destroy(done));
  }
  EXPECT_OK(soft_graph_destroy(graph));
  ASSERT_OK(soft_graph_launch(exec, other));
  ASSERT_OK(soft_stream_synchronize(other));
  EXPECT_EQ(seen, (std::vector<int>{1, 2, 3, 4}));
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
