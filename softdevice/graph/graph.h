// SPDX-License-Identifier: Apache-2.0
//
// A graph: what a capture has recorded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "softdevice/base/status.h"
#include "softdevice/soft_graph.h"
#include "softdevice/stream/enqueue.h"
#include "softdevice/stream/event.h"

namespace dipu::softdevice {

class Device;
struct GraphBody;

// Payloads are made of these, which gives each the alignment that is promised.
struct alignas(16) PayloadBlock {
  unsigned char bytes[16];
};

inline std::size_t payloadBlocks(std::size_t bytes) {
  return (bytes + sizeof(PayloadBlock) - 1) / sizeof(PayloadBlock);
}

struct GraphNode {
  TaskKind kind;
  const char* name;  // static storage; nullptr: unknown
  soft_task run;     // nullptr for a child
  uint32_t lane;
  std::size_t payload;  // index of its first block
  std::size_t bytes;
  uint64_t moved_bytes;                    // as in Task
  std::vector<uint32_t> after;             // smaller indices, ascending
  std::shared_ptr<TimeStamp> time;         // of a record, else nullptr
  std::shared_ptr<const GraphBody> child;  // of kGraph, else nullptr
};

// The part of a graph that one stream contributed.
struct GraphLane {
  Device* device;
  uint64_t generation;  // of the device, when the stream joined
  uint64_t stream_id;
};

// Constant once its capture has ended, and shared from then on.
struct GraphBody {
  std::vector<GraphLane> lanes;  // the first is where the capture began
  std::vector<GraphNode> nodes;  // each after those it depends on
  std::vector<PayloadBlock> payloads;
  std::vector<uint32_t> end;  // what work after the graph depends on
};

// Word for a kind of task, as in "copy".
const char* kindName(TaskKind kind);

// Whether both have the same kinds of nodes, dependencies and devices. If not,
// *out_node is the first node that differs.
bool sameShape(const GraphBody& left, const GraphBody& right,
               std::size_t* out_node);

}  // namespace dipu::softdevice

struct soft_graph {
  std::shared_ptr<const dipu::softdevice::GraphBody> body;
};
