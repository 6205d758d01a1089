// SPDX-License-Identifier: Apache-2.0
//
// An executable graph: a plan and the streams that replay it.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "softdevice/graph/graph.h"
#include "softdevice/graph/graph_plan.h"

struct soft_graph_exec {
 public:
  using GraphBody = dipu::softdevice::GraphBody;
  using GraphPlan = dipu::softdevice::GraphPlan;

  explicit soft_graph_exec(std::shared_ptr<GraphPlan> plan);
  soft_graph_exec(const soft_graph_exec&) = delete;
  soft_graph_exec& operator=(const soft_graph_exec&) = delete;

  // Finds the streams of the branches. Called before anyone sees this.
  soft_status prepare();
  std::shared_ptr<const GraphBody> body() const;
  soft_status launch(soft_stream* stream);
  soft_status update(const std::shared_ptr<GraphPlan>& plan);

 private:
  soft_status checkDevices() const;
  soft_status prepareLane(uint32_t lane);
  soft_status enqueueSteps(soft_stream* stream, std::size_t* out_enqueued);
  soft_status enqueueStep(uint32_t index, soft_stream* stream, uint64_t start);
  soft_status joinSteps(soft_stream* stream, std::size_t enqueued);
  soft_stream* streamOf(uint32_t lane, soft_stream* launcher) const;

  // Guards all below. Order: see device.h.
  mutable std::mutex mutex_;
  std::shared_ptr<GraphPlan> plan_;
  std::vector<uint32_t> indices_;       // of the lanes' helpers
  std::vector<soft_stream*> helpers_;   // of the lanes; nullptr: not needed yet
  std::vector<uint64_t> positions_;     // of the steps of the last replay
  soft_stream* last_stream_ = nullptr;  // where the last replay ends
  uint64_t last_position_ = 0;
};
