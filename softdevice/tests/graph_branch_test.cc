// SPDX-License-Identifier: Apache-2.0
//
// Replays over several streams.
#include <algorithm>
#include <thread>
#include <vector>

#include "softdevice/tests/graph_test_base.h"

namespace dipu::softdevice {
namespace {

using GraphBranchTest = GraphTestBase;

// Branches that wait for each other end only if they run beside each other.
TEST_F(GraphBranchTest, BranchesRunBesideEachOtherAndAreJoined) {
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

TEST_F(GraphBranchTest, NodesRunOnTheDevicesOfTheirStreams) {
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

TEST_F(GraphBranchTest, LaterWorkOfTheStreamWaitsForAllBranches) {
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

TEST_F(GraphBranchTest, ReplaysOfOneExecNeverOverlap) {
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

TEST_F(GraphBranchTest, AGraphLaunchedInACaptureBecomesOneNode) {
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

TEST_F(GraphBranchTest, AnUpdateAfterAResetFindsNewStreamsForTheBranches) {
  static std::atomic<int> runs;
  runs = 0;
  const auto capture = [] {
    soft_stream* stream = makeStream(0);
    soft_stream* other = makeStream(0);
    begin(stream);
    order(stream, other);
    EXPECT_OK(launch(other, [] { ++runs; }));
    order(other, stream);
    return end(stream);
  };
  soft_graph* graph = capture();
  soft_graph_exec* exec = instantiate(graph);
  // Lane 0 has a stream of its own there.
  soft_stream* elsewhere = makeStream(1);
  ASSERT_OK(soft_graph_launch(exec, elsewhere));
  ASSERT_OK(soft_stream_synchronize(elsewhere));
  EXPECT_OK(soft_graph_destroy(graph));
  ASSERT_OK(soft_device_reset(0));
  EXPECT_SOFT(SOFT_INVALID_HANDLE, soft_graph_launch(exec, elsewhere));
  graph = capture();
  ASSERT_OK(soft_graph_exec_update(exec, graph));
  ASSERT_OK(soft_graph_launch(exec, elsewhere));
  ASSERT_OK(soft_stream_synchronize(elsewhere));
  EXPECT_EQ(runs, 2);
  EXPECT_OK(soft_graph_destroy(graph));
  EXPECT_OK(soft_graph_exec_destroy(exec));
}

}  // namespace
}  // namespace dipu::softdevice
