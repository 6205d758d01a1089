// SPDX-License-Identifier: Apache-2.0
//
// Random graphs, compared with running the same work one piece after the other.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "softdevice/tests/graph_test_base.h"

namespace dipu::softdevice {
namespace {

// Every piece of work mixes a cell with those that it reads. Which cells it may
// read is what streams and events promise to order; the result tells whether
// they were read in the right state.
struct Work {
  uint64_t* cells;
  int write;
  int read;

  void operator()() const {
    const uint64_t mixed = cells[write] * 6364136223846793005ULL + cells[read];
    cells[write] = mixed ^ (mixed >> 29);
  }
};

// Lane i owns cell i. A lane may read a cell of another after a join, until the
// owner goes on; a barrier over all lanes keeps reads and writes apart.
class RandomProgram {
 public:
  RandomProgram(uint32_t seed, std::vector<soft_stream*> streams,
                uint64_t* cells)
      : random_(seed), streams_(std::move(streams)), cells_(cells) {}

  // Captures a program on the first stream; `reference` gets its work in an
  // order that is right.
  void record(std::vector<Work>* reference) {
    const int lanes = static_cast<int>(streams_.size());
    for (int phase = 0; phase < 6; ++phase) {
      const int active = 1 + static_cast<int>(random_() % lanes);
      for (int lane = 1; lane < active; ++lane) wait(lane, 0);
      for (int piece = 0; piece < 12; ++piece) {
        const int lane = static_cast<int>(random_() % active);
        add({cells_, lane, idleCell(active, lane)}, lane, reference);
      }
      chain(active, reference);
      for (int lane = 1; lane < active; ++lane) wait(0, lane);
    }
  }

 private:
  // A cell that nobody writes in this phase, or the lane's own.
  int idleCell(int active, int lane) {
    const int lanes = static_cast<int>(streams_.size());
    if (active == lanes) return lane;
    return active + static_cast<int>(random_() % (lanes - active));
  }
  // Each lane reads what the one before has just written.
  void chain(int active, std::vector<Work>* reference) {
    for (int lane = 1; lane < active; ++lane) {
      wait(lane, lane - 1);
      add({cells_, lane, lane - 1}, lane, reference);
    }
  }
  void add(const Work& work, int lane, std::vector<Work>* reference) {
    ASSERT_OK(launch(streams_[lane], work));
    reference->push_back(work);
  }
  void wait(int lane, int other) {
    soft_event* event = nullptr;
    ASSERT_OK(soft_event_create(soft_stream_device(streams_[other]),
                                random_() % 2 == 0
                                    ? uint32_t{SOFT_EVENT_DISABLE_TIMING}
                                    : uint32_t{SOFT_EVENT_DEFAULT},
                                &event));
    ASSERT_OK(soft_event_record(event, streams_[other]));
    ASSERT_OK(soft_stream_wait_event(streams_[lane], event));
    ASSERT_OK(soft_event_destroy(event));
  }

  std::mt19937 random_;
  std::vector<soft_stream*> streams_;
  uint64_t* cells_;
};

class GraphRandomTest : public GraphTestBase,
                        public ::testing::WithParamInterface<uint32_t> {};

TEST_P(GraphRandomTest, ReplaysEqualTheSequentialRun) {
  constexpr int kReplays = 8;
  std::mt19937 random(GetParam());
  const int lanes = 1 + static_cast<int>(random() % 6);
  std::vector<soft_stream*> streams;
  for (int lane = 0; lane < lanes; ++lane) {
    streams.push_back(makeStream(static_cast<int32_t>(random() % 2)));
  }
  std::vector<uint64_t> cells(lanes);
  for (uint64_t& cell : cells) cell = random();
  std::vector<uint64_t> expected = cells;
  std::vector<Work> reference;
  begin(streams[0]);
  RandomProgram(GetParam(), streams, cells.data()).record(&reference);
  // Some programs are a node of a larger one.
  soft_graph_exec* exec = endAndInstantiate(streams[0]);
  int repeats = 1;
  if (GetParam() % 3 == 0) {
    begin(streams[0]);
    for (repeats = 0; repeats < 3; ++repeats) {
      ASSERT_OK(soft_graph_launch(exec, streams[0]));
    }
    EXPECT_OK(soft_graph_exec_destroy(exec));
    exec = endAndInstantiate(streams[0]);
  }
  for (int replay = 0; replay < kReplays; ++replay) {
    ASSERT_OK(soft_graph_launch(exec, streams[random() % lanes]));
  }
  EXPECT_OK(soft_graph_exec_destroy(exec));
  for (soft_stream* stream : streams) {
    ASSERT_OK(soft_stream_synchronize(stream));
  }
  for (int run = 0; run < kReplays * repeats; ++run) {
    for (Work work : reference) {
      work.cells = expected.data();
      work();
    }
  }
  EXPECT_EQ(cells, expected);
}

INSTANTIATE_TEST_SUITE_P(Seeds, GraphRandomTest, ::testing::Range(0u, 30u));

}  // namespace
}  // namespace dipu::softdevice
