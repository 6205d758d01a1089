// SPDX-License-Identifier: Apache-2.0
#include "softdevice/graph/graph_plan.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "softdevice/debug/observe.h"
#include "softdevice/stream/stream.h"

namespace dipu::softdevice {
namespace {

// A node with the graphs inside of graphs put in place.
struct FlatNode {
  const GraphBody* body;
  const GraphNode* node;
  uint32_t lane;
  std::vector<uint32_t> after;
  std::string number;  // as in "4.17": node 17 of the graph that is node 4
};

struct FlatGraph {
  std::vector<GraphLane> lanes;
  std::vector<FlatNode> nodes;

  // Adds a graph behind the nodes `before`, its first lane in place of `lane`.
  // Returns what work behind the graph depends on.
  std::vector<uint32_t> append(const GraphBody& body, uint32_t lane,
                               const std::vector<uint32_t>& before,
                               const std::string& prefix);
};

std::vector<uint32_t> unite(const std::vector<std::vector<uint32_t>>& sets,
                            const std::vector<uint32_t>& which,
                            const std::vector<uint32_t>& if_none) {
  if (which.empty()) return if_none;
  std::vector<uint32_t> all;
  for (uint32_t i : which)
    all.insert(all.end(), sets[i].begin(), sets[i].end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

std::vector<uint32_t> FlatGraph::append(const GraphBody& body, uint32_t lane,
                                        const std::vector<uint32_t>& before,
                                        const std::string& prefix) {
  // The other lanes are new ones. The first keeps its place: work of a lane
  // stays in order.
  const auto first_new = static_cast<uint32_t>(lanes.size());
  lanes.insert(lanes.end(), body.lanes.begin() + 1, body.lanes.end());
  std::vector<std::vector<uint32_t>> ends;  // of each node of the body
  for (const GraphNode& node : body.nodes) {
    const uint32_t own = node.lane == 0 ? lane : first_new + node.lane - 1;
    const std::string number = prefix + std::to_string(ends.size());
    std::vector<uint32_t> after = unite(ends, node.after, before);
    if (node.child != nullptr) {
      ends.push_back(append(*node.child, own, after, number + "."));
    } else {
      ends.push_back({static_cast<uint32_t>(nodes.size())});
      nodes.push_back({&body, &node, own, std::move(after), number});
    }
  }
  return unite(ends, body.end, before);
}

std::string labelOf(const FlatNode& flat) {
  const char* name = flat.node->name;
  return "graph node " + flat.number + " (" +
         (name == nullptr ? kindName(flat.node->kind) : name) + ")";
}

Task taskOf(const GraphNode& node) {
  return {node.kind, node.name, node.run, node.bytes, node.moved_bytes};
}

}  // namespace

// Makes the steps of a plan.
class Planner {
 public:
  explicit Planner(GraphPlan* plan) : plan_(plan) {}

  void makeSteps();
  void fillSteps();

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  void findAwaited();
  void dropKnown(uint32_t lane, std::vector<uint32_t>* others);
  uint32_t openStep(uint32_t lane, const std::vector<uint32_t>& others);

  GraphPlan* const plan_;
  FlatGraph flat_;
  std::vector<uint32_t> end_;
  std::vector<bool> awaited_;      // by another lane, or by the launcher
  std::vector<uint32_t> step_of_;  // node -> step
  std::vector<std::vector<uint32_t>> known_;  // [lane][other]: nodes waited for
};

// Marks the nodes that others wait for.
void Planner::findAwaited() {
  awaited_.assign(flat_.nodes.size(), false);
  for (const FlatNode& flat : flat_.nodes) {
    for (uint32_t before : flat.after) {
      if (flat_.nodes[before].lane != flat.lane) awaited_[before] = true;
    }
  }
  for (uint32_t node : end_) awaited_[node] = true;
}

// Leaves of `others` those of other lanes behind which `lane` is not already.
void Planner::dropKnown(uint32_t lane, std::vector<uint32_t>* others) {
  std::vector<uint32_t> kept;
  for (uint32_t before : *others) {
    uint32_t& known = known_[lane][flat_.nodes[before].lane];
    if (flat_.nodes[before].lane == lane || before < known) continue;
    known = before + 1;
    kept.push_back(before);
  }
  *others = std::move(kept);
}

uint32_t Planner::openStep(uint32_t lane, const std::vector<uint32_t>& others) {
  GraphPlan::Step step{};
  step.lane = lane;
  for (uint32_t before : others) step.waits.push_back(step_of_[before]);
  plan_->steps_.push_back(std::move(step));
  return static_cast<uint32_t>(plan_->steps_.size() - 1);
}

void Planner::makeSteps() {
  flat_.lanes.push_back(plan_->body_->lanes.front());
  end_ = flat_.append(*plan_->body_, 0, {}, "");
  findAwaited();
  const std::size_t lanes = flat_.lanes.size();
  known_.assign(lanes, std::vector<uint32_t>(lanes, 0));
  std::vector<uint32_t> open(lanes, kNone);
  for (std::size_t i = 0; i < flat_.nodes.size(); ++i) {
    const FlatNode& flat = flat_.nodes[i];
    std::vector<uint32_t> others = flat.after;
    dropKnown(flat.lane, &others);
    if (!others.empty() || open[flat.lane] == kNone) {
      open[flat.lane] = openStep(flat.lane, others);
      plan_->steps_.back().begins = flat.after.empty();
    }
    step_of_.push_back(open[flat.lane]);
    if (awaited_[i]) open[flat.lane] = kNone;
  }
  for (uint32_t node : end_) plan_->last_.push_back(step_of_[node]);
  plan_->lanes_ = flat_.lanes;
}

// Puts nodes and payloads in the order of the steps.
void Planner::fillSteps() {
  std::vector<std::vector<uint32_t>> members(plan_->steps_.size());
  for (std::size_t i = 0; i < step_of_.size(); ++i) {
    members[step_of_[i]].push_back(static_cast<uint32_t>(i));
  }
  std::vector<PayloadBlock>& blocks = plan_->pristine_;
  for (std::size_t i = 0; i < members.size(); ++i) {
    GraphPlan::Step& step = plan_->steps_[i];
    step.first_node = plan_->nodes_.size();
    step.first_block = blocks.size();
    for (uint32_t member : members[i]) {
      const FlatNode& flat = flat_.nodes[member];
      const PayloadBlock* from =
          flat.body->payloads.data() + flat.node->payload;
      plan_->nodes_.push_back(
          {taskOf(*flat.node), blocks.size(), labelOf(flat)});
      blocks.insert(blocks.end(), from, from + payloadBlocks(flat.node->bytes));
    }
    step.end_node = plan_->nodes_.size();
    step.end_block = blocks.size();
  }
  plan_->working_.resize(blocks.size());
}

GraphPlan::GraphPlan(std::shared_ptr<const GraphBody> body)
    : body_(std::move(body)) {
  Planner planner(this);
  planner.makeSteps();
  planner.fillSteps();
}

void GraphPlan::run(const Step& step) {
  soft_stream* const stream = soft_stream::current();
  if (step.end_block != step.first_block) {
    std::memcpy(working_.data() + step.first_block,
                pristine_.data() + step.first_block,
                (step.end_block - step.first_block) * sizeof(PayloadBlock));
  }
  const bool observed = stream->isObserved();
  for (std::size_t i = step.first_node; i < step.end_node; ++i) {
    const Node& node = nodes_[i];
    stream->stopAtExit();
    void* const payload = working_.data() + node.payload;
    if (observed) {
      runObservedNode(stream, node.label.c_str(), node.task, payload);
    } else {
      stream->runInPlace(node.label.c_str(), node.task.run, payload);
    }
  }
}

}  // namespace dipu::softdevice
