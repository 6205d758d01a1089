// SPDX-License-Identifier: Apache-2.0
//
// Capture and graphs. tang cannot describe a graph, so write_dot is missing.
#include "core/abi/graph.h"

#include <cstdint>

#include "core/plugin_kit/guard.h"
#include "core/plugin_kit/table.h"
#include "vendors/droplet/context.h"
#include "vendors/droplet/runtime.h"
#include "vendors/droplet/status.h"
#include "vendors/droplet/tang/tang_runtime.h"

namespace dipu::vendors::droplet {
namespace {

using plugin_kit::kGuarded;

static_assert(int{DIPU_CAPTURE_GLOBAL} == int{tangStreamCaptureModeGlobal} &&
                  int{DIPU_CAPTURE_THREAD_LOCAL} ==
                      int{tangStreamCaptureModeThreadLocal} &&
                  int{DIPU_CAPTURE_RELAXED} ==
                      int{tangStreamCaptureModeRelaxed},
              "modes are passed on unchanged");
static_assert(int{DIPU_CAPTURE_NONE} == int{tangStreamCaptureStatusNone} &&
                  int{DIPU_CAPTURE_ACTIVE} ==
                      int{tangStreamCaptureStatusActive} &&
                  int{DIPU_CAPTURE_INVALIDATED} ==
                      int{tangStreamCaptureStatusInvalidated},
              "so are states");

tangGraph_t sdkHandle(dipu_graph* graph) {
  return reinterpret_cast<tangGraph_t>(graph);
}

tangGraphExec_t sdkHandle(dipu_graph_exec* exec) {
  return reinterpret_cast<tangGraphExec_t>(exec);
}

dipu_error* beginCapture(dipu_stream* stream, dipu_capture_mode mode) {
  return check(tangStreamBeginCapture(droplet::sdkHandle(stream),
                                      static_cast<tangStreamCaptureMode>(mode)),
               "tangStreamBeginCapture in mode %d", mode);
}

dipu_error* endCapture(dipu_stream* stream, dipu_graph** out_graph) {
  tangGraph_t graph = nullptr;
  if (dipu_error* error =
          check(tangStreamEndCapture(droplet::sdkHandle(stream), &graph),
                "tangStreamEndCapture")) {
    return error;
  }
  *out_graph = reinterpret_cast<dipu_graph*>(graph);
  return nullptr;
}

dipu_error* getCaptureStatus(dipu_stream* stream,
                             dipu_capture_status* out_status) {
  tangStreamCaptureStatus status = tangStreamCaptureStatusNone;
  if (dipu_error* error =
          check(tangStreamIsCapturing(droplet::sdkHandle(stream), &status),
                "tangStreamIsCapturing")) {
    return error;
  }
  *out_status = status;
  return nullptr;
}

dipu_error* instantiate(dipu_graph* graph, dipu_graph_exec** out_exec) {
  tangGraphExec_t exec = nullptr;
  if (dipu_error* error =
          check(tangGraphInstantiateWithFlags(&exec, sdkHandle(graph),
                                              /*flags=*/0),
                "tangGraphInstantiateWithFlags")) {
    return error;
  }
  *out_exec = reinterpret_cast<dipu_graph_exec*>(exec);
  return nullptr;
}

dipu_error* launch(dipu_graph_exec* exec, dipu_stream* stream) {
  return check(tangGraphLaunch(sdkHandle(exec), droplet::sdkHandle(stream)),
               "tangGraphLaunch");
}

void destroy(dipu_graph* graph) {
  if (graph != nullptr) tangGraphDestroy(sdkHandle(graph));
}

void destroyExec(dipu_graph_exec* exec) {
  if (exec != nullptr) tangGraphExecDestroy(sdkHandle(exec));
}

constexpr dipu_graph_api makeGraphApi() {
  auto api = plugin_kit::makeTable<dipu_graph_api>(DIPU_GRAPH_API_VERSION);
  api.begin_capture = kGuarded<beginCapture>;
  api.end_capture = kGuarded<endCapture>;
  api.get_capture_status = kGuarded<getCaptureStatus>;
  api.instantiate = kGuarded<instantiate>;
  api.launch = kGuarded<launch>;
  api.destroy = kGuarded<destroy>;
  api.destroy_exec = kGuarded<destroyExec>;
  return api;
}

}  // namespace

constexpr dipu_graph_api kGraphApi = makeGraphApi();

}  // namespace dipu::vendors::droplet
