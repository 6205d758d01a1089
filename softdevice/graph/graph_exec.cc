// SPDX-License-Identifier: Apache-2.0
#include "softdevice/graph/graph_exec.h"

#include <new>
#include <utility>

#include "softdevice/device/device.h"
#include "softdevice/graph/capture.h"
#include "softdevice/stream/enqueue.h"
#include "softdevice/stream/order.h"
#include "softdevice/stream/stream.h"

namespace dipu::softdevice {
namespace {

// Branches beyond this number share the threads of the others.
constexpr uint32_t kMaxHelpers = 8;

// Streams of each device for the branches of all graphs.
struct Helpers {
  std::mutex mutex;  // held while a stream is created
  soft_stream* streams[kMaxDevices][kMaxHelpers] = {};
};

soft_status helperStream(Device* device, uint32_t index,
                         soft_stream** out_stream) {
  static Helpers* const helpers = new Helpers;  // used until the process ends
  std::lock_guard<std::mutex> lock(helpers->mutex);
  soft_stream*& helper = helpers->streams[device->index()][index % kMaxHelpers];
  if (helper == nullptr || helper->closed()) {  // by a reset
    soft_status status =
        device->createStream(0, SOFT_STREAM_NON_BLOCKING, &helper);
    if (status != SOFT_OK) return status;
  }
  *out_stream = helper;
  return SOFT_OK;
}

// The payload of a step's task. Keeps the plan from going while it is pending.
struct StepRun {
  std::shared_ptr<GraphPlan> plan;
  uint32_t step;
};

void stepTask(void* payload) {
  auto* run = static_cast<StepRun*>(payload);
  run->plan->run(run->plan->steps()[run->step]);
  run->~StepRun();
}

}  // namespace
}  // namespace dipu::softdevice

using dipu::softdevice::checkMayBlock;
using dipu::softdevice::checkProcess;
using dipu::softdevice::Device;
using dipu::softdevice::enqueue;
using dipu::softdevice::enqueueWait;
using dipu::softdevice::enterStream;
using dipu::softdevice::fail;
using dipu::softdevice::GraphLane;
using dipu::softdevice::GraphPlan;
using dipu::softdevice::StepRun;
using dipu::softdevice::Task;
using dipu::softdevice::TaskKind;
using dipu::softdevice::withHostMemory;

soft_graph_exec::soft_graph_exec(std::shared_ptr<GraphPlan> plan)
    : plan_(std::move(plan)),
      indices_(plan_->lanes().size()),
      helpers_(plan_->lanes().size(), nullptr),
      positions_(plan_->steps().size()) {}

soft_status soft_graph_exec::prepare() {
  // The first lane comes last: it needs a helper only when the graph is
  // launched on a stream of another device.
  uint32_t counts[dipu::softdevice::kMaxDevices] = {};
  const auto lanes = static_cast<uint32_t>(indices_.size());
  for (uint32_t lane = 1; lane <= lanes; ++lane) {
    const Device& device = *plan_->lanes()[lane % lanes].device;
    indices_[lane % lanes] = counts[device.index()]++;
    if (lane == lanes) continue;
    if (soft_status status = prepareLane(lane)) return status;
  }
  return SOFT_OK;
}

soft_status soft_graph_exec::prepareLane(uint32_t lane) {
  return dipu::softdevice::helperStream(plan_->lanes()[lane].device,
                                        indices_[lane], &helpers_[lane]);
}

std::shared_ptr<const dipu::softdevice::GraphBody> soft_graph_exec::body()
    const {
  std::lock_guard<std::mutex> lock(mutex_);
  return plan_->body();
}

soft_status soft_graph_exec::checkDevices() const {
  for (const GraphLane& lane : plan_->lanes()) {
    if (lane.device->lost()) return lane.device->error();
    if (lane.device->generation() == lane.generation) continue;
    return fail(SOFT_INVALID_HANDLE,
                "soft_graph_launch: device %d has been reset since the graph "
                "was captured; capture it again",
                lane.device->index());
  }
  return SOFT_OK;
}

soft_stream* soft_graph_exec::streamOf(uint32_t lane,
                                       soft_stream* launcher) const {
  const bool own = lane == 0 && plan_->lanes()[0].device == &launcher->device();
  return own ? launcher : helpers_[lane];
}

soft_status soft_graph_exec::enqueueStep(uint32_t index, soft_stream* stream,
                                         uint64_t start) {
  const GraphPlan::Step& step = plan_->steps()[index];
  soft_stream* const target = streamOf(step.lane, stream);
  if (step.begins) {
    if (soft_status status = enqueueWait(target, stream, start)) return status;
  }
  for (uint32_t before : step.waits) {
    soft_stream* const other = streamOf(plan_->steps()[before].lane, stream);
    if (soft_status status = enqueueWait(target, other, positions_[before])) {
      return status;
    }
  }
  const Task task{TaskKind::kGraph, "graph", dipu::softdevice::stepTask,
                  sizeof(StepRun)};
  return enqueue(
      target, task, [&](void* payload) { new (payload) StepRun{plan_, index}; },
      &positions_[index]);
}

soft_status soft_graph_exec::enqueueSteps(soft_stream* stream,
                                          std::size_t* out_enqueued) {
  if (last_stream_ != nullptr) {
    soft_status status = enqueueWait(stream, last_stream_, last_position_);
    if (status != SOFT_OK) return status;
  }
  const uint64_t start = stream->tail();
  for (; *out_enqueued < plan_->steps().size(); ++*out_enqueued) {
    const auto index = static_cast<uint32_t>(*out_enqueued);
    if (soft_status status = enqueueStep(index, stream, start)) return status;
  }
  return SOFT_OK;
}

// Makes `stream` wait for the replay, or for what there is of one that could
// not be enqueued completely.
soft_status soft_graph_exec::joinSteps(soft_stream* stream,
                                       std::size_t enqueued) {
  const auto join = [&](uint32_t step) {
    return enqueueWait(stream, streamOf(plan_->steps()[step].lane, stream),
                       positions_[step]);
  };
  soft_status status = SOFT_OK;
  if (enqueued == plan_->steps().size()) {
    for (uint32_t step : plan_->last()) {
      if (status == SOFT_OK) status = join(step);
    }
  } else {
    for (uint32_t step = 0; step < enqueued; ++step) {
      if (status == SOFT_OK) status = join(step);
    }
  }
  last_stream_ = stream;
  last_position_ = stream->tail();
  return status;
}

soft_status soft_graph_exec::launch(soft_stream* stream) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (soft_status status = checkDevices()) return status;
  if (streamOf(0, stream) == nullptr) {
    if (soft_status status = prepareLane(0)) return status;
  }
  std::size_t enqueued = 0;
  const soft_status status = enqueueSteps(stream, &enqueued);
  const soft_status joined = joinSteps(stream, enqueued);
  return status != SOFT_OK ? status : joined;
}

soft_status soft_graph_exec::update(const std::shared_ptr<GraphPlan>& plan) {
  std::lock_guard<std::mutex> lock(mutex_);
  std::size_t node = 0;
  if (!sameShape(*plan_->body(), *plan->body(), &node)) {
    return fail(SOFT_INVALID_VALUE,
                "soft_graph_exec_update: the graph has another shape, from "
                "node %zu on; instantiate it instead",
                node);
  }
  // A reset since may have ended the streams that were found. Both plans have
  // the same lanes; the first one's stream is found at the next launch.
  helpers_[0] = nullptr;
  if (soft_status status = prepare()) return status;
  plan_ = plan;
  return SOFT_OK;
}

soft_status soft_graph_instantiate(const soft_graph* graph,
                                   soft_graph_exec** out_exec) {
  constexpr const char* kFunction = "soft_graph_instantiate";
  if (soft_status status = checkProcess(kFunction)) return status;
  if (graph == nullptr || out_exec == nullptr) {
    return fail(graph == nullptr ? SOFT_INVALID_HANDLE : SOFT_INVALID_VALUE,
                "%s: %s is NULL", kFunction,
                graph == nullptr ? "the graph" : "out_exec");
  }
  return withHostMemory(kFunction, [&] {
    auto exec = std::make_unique<soft_graph_exec>(
        std::make_shared<GraphPlan>(graph->body));
    if (soft_status status = exec->prepare()) return status;
    *out_exec = exec.release();
    return soft_status{SOFT_OK};
  });
}

soft_status soft_graph_launch(soft_graph_exec* exec, soft_stream* stream) {
  constexpr const char* kFunction = "soft_graph_launch";
  if (soft_status status = checkMayBlock(kFunction)) return status;
  if (soft_status status = enterStream(kFunction, stream)) return status;
  if (exec == nullptr) {
    return fail(SOFT_INVALID_HANDLE, "%s: the executable graph is NULL",
                kFunction);
  }
  soft_status status = SOFT_OK;
  if (stream->isCapturing() && captureGraph(stream, exec->body(), &status)) {
    return status;
  }
  return exec->launch(stream);
}

soft_status soft_graph_exec_update(soft_graph_exec* exec,
                                   const soft_graph* graph) {
  constexpr const char* kFunction = "soft_graph_exec_update";
  if (soft_status status = checkMayBlock(kFunction)) return status;
  if (exec == nullptr || graph == nullptr) {
    return fail(SOFT_INVALID_HANDLE, "%s: the %s is NULL", kFunction,
                exec == nullptr ? "executable graph" : "graph");
  }
  return withHostMemory(kFunction, [&] {
    return exec->update(std::make_shared<GraphPlan>(graph->body));
  });
}

soft_status soft_graph_exec_destroy(soft_graph_exec* exec) {
  // Pending replays keep what they need.
  delete exec;
  return SOFT_OK;
}
