// SPDX-License-Identifier: Apache-2.0
//
// A graph as it is replayed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "softdevice/graph/graph.h"

namespace dipu::softdevice {

// Note [Replay]
// A plan has the graphs inside of graphs put in place and the nodes cut into
// steps. A step is a run of nodes of one lane that nobody else waits for before
// its end, and that waits for others at its start only. It is one task of a
// ring; a graph without forks therefore is one task, whatever its length.
//
// Steps are listed in an order in which each comes after those it waits for. A
// launch enqueues them in this order, with the usual waits for positions
// between them, so replays need no synchronisation of their own and cannot
// block each other in a cycle.
//
// Replays of one plan never overlap. So each task runs on the plan's one
// working copy of its payload, which its step renews from the pristine one.
class GraphPlan {
 public:
  struct Step {
    uint32_t lane;
    bool begins = false;          // waits for the start of the replay
    std::vector<uint32_t> waits;  // for these steps, all before it
    // Ranges of nodes and of payload blocks.
    std::size_t first_node = 0;
    std::size_t end_node = 0;
    std::size_t first_block = 0;
    std::size_t end_block = 0;
  };

  // May throw std::bad_alloc.
  explicit GraphPlan(std::shared_ptr<const GraphBody> body);
  GraphPlan(const GraphPlan&) = delete;
  GraphPlan& operator=(const GraphPlan&) = delete;

  const std::shared_ptr<const GraphBody>& body() const { return body_; }
  const std::vector<GraphLane>& lanes() const { return lanes_; }
  const std::vector<Step>& steps() const { return steps_; }
  // Steps after which everything is done.
  const std::vector<uint32_t>& last() const { return last_; }

  // Runs the nodes of a step on the calling worker.
  void run(const Step& step);

 private:
  friend class Planner;
  struct Node {
    Task task;
    std::size_t payload;  // index of its first block
    std::string label;    // for messages
  };

  std::shared_ptr<const GraphBody> body_;  // keeps what payloads refer to
  std::vector<GraphLane> lanes_;
  std::vector<Step> steps_;
  std::vector<uint32_t> last_;
  std::vector<Node> nodes_;  // step by step, like the payloads
  std::vector<PayloadBlock> pristine_;
  std::vector<PayloadBlock> working_;
};

}  // namespace dipu::softdevice
