// SPDX-License-Identifier: Apache-2.0
//
// Capture and graphs, which softdevice has under other names.
#include "softdevice/soft_graph.h"
#include "vendors/droplet/tang/status.h"
#include "vendors/droplet/tang/tang_runtime.h"

using dipu::tang::check;
using dipu::tang::fail;
using dipu::tang::requireOutput;
using dipu::tang::resolveStream;

static_assert(int{tangStreamCaptureModeGlobal} == int{SOFT_CAPTURE_GLOBAL} &&
                  int{tangStreamCaptureModeThreadLocal} ==
                      int{SOFT_CAPTURE_THREAD_LOCAL} &&
                  int{tangStreamCaptureModeRelaxed} ==
                      int{SOFT_CAPTURE_RELAXED},
              "modes are passed on unchanged");
static_assert(int{tangStreamCaptureStatusNone} ==
                      int{SOFT_CAPTURE_STATUS_NONE} &&
                  int{tangStreamCaptureStatusActive} ==
                      int{SOFT_CAPTURE_STATUS_ACTIVE} &&
                  int{tangStreamCaptureStatusInvalidated} ==
                      int{SOFT_CAPTURE_STATUS_INVALIDATED},
              "so are states");

namespace {

tangError_t requireGraph(const char* function, const void* graph) {
  if (graph != nullptr) return tangSuccess;
  return fail(tangErrorInvalidValue, "%s: the graph is NULL", function);
}

}  // namespace

tangError_t dipu::tang::refuseCapture(const char* function,
                                      soft_stream* stream) {
  soft_capture_status status = SOFT_CAPTURE_STATUS_NONE;
  if (tangError_t error =
          check(soft_stream_get_capture(stream, &status, nullptr))) {
    return error;
  }
  if (status == SOFT_CAPTURE_STATUS_NONE) return tangSuccess;
  return fail(tangErrorStreamCaptureUnsupported,
              "%s on a stream that is being captured", function);
}

tangError_t tangStreamBeginCapture(tangStream_t stream,
                                   tangStreamCaptureMode mode) {
  soft_stream* target = nullptr;
  if (tangError_t error = resolveStream(stream, &target)) return error;
  return check(soft_stream_begin_capture(target, mode));
}

tangError_t tangStreamEndCapture(tangStream_t stream, tangGraph_t* pGraph) {
  if (tangError_t error = requireOutput("tangStreamEndCapture", pGraph)) {
    return error;
  }
  soft_stream* target = nullptr;
  if (tangError_t error = resolveStream(stream, &target)) return error;
  return check(soft_stream_end_capture(target, pGraph));
}

tangError_t tangStreamIsCapturing(tangStream_t stream,
                                  tangStreamCaptureStatus* pStatus) {
  return tangStreamGetCaptureInfo(stream, pStatus, nullptr, nullptr, nullptr,
                                  nullptr);
}

tangError_t tangStreamGetCaptureInfo(tangStream_t hStream,
                                     tangStreamCaptureStatus* pStatus,
                                     unsigned long long* pId,
                                     tangGraph_t* pGraph,
                                     const tangGraphNode_t** deps,
                                     size_t* numDeps) {
  if (tangError_t error = requireOutput("tangStreamGetCaptureInfo", pStatus)) {
    return error;
  }
  soft_stream* target = nullptr;
  if (tangError_t error = resolveStream(hStream, &target)) return error;
  soft_capture_status status = SOFT_CAPTURE_STATUS_NONE;
  uint64_t id = 0;
  if (tangError_t error =
          check(soft_stream_get_capture(target, &status, &id))) {
    return error;
  }
  *pStatus = static_cast<tangStreamCaptureStatus>(status);
  if (pId != nullptr) *pId = id;
  if (pGraph != nullptr) *pGraph = nullptr;
  if (deps != nullptr) *deps = nullptr;
  if (numDeps != nullptr) *numDeps = 0;
  return tangSuccess;
}

tangError_t tangThreadExchangeStreamCaptureMode(tangStreamCaptureMode* mode) {
  if (tangError_t error =
          requireOutput("tangThreadExchangeStreamCaptureMode", mode)) {
    return error;
  }
  soft_capture_mode exchanged = *mode;
  if (tangError_t error =
          check(soft_thread_exchange_capture_mode(&exchanged))) {
    return error;
  }
  *mode = static_cast<tangStreamCaptureMode>(exchanged);
  return tangSuccess;
}

tangError_t tangGraphInstantiate(tangGraphExec_t* pGraphExec, tangGraph_t graph,
                                 void* errorNode, void* logBuffer,
                                 unsigned long long flags) {
  static_cast<void>(errorNode);
  static_cast<void>(logBuffer);
  return tangGraphInstantiateWithFlags(pGraphExec, graph, flags);
}

tangError_t tangGraphInstantiateWithFlags(tangGraphExec_t* pGraphExec,
                                          tangGraph_t graph,
                                          unsigned long long flags) {
  if (tangError_t error = requireOutput("tangGraphInstantiate", pGraphExec)) {
    return error;
  }
  if (tangError_t error = requireGraph("tangGraphInstantiate", graph)) {
    return error;
  }
  if (flags != 0) {
    return fail(tangErrorInvalidValue,
                "tangGraphInstantiate: flags must be 0, not %llu", flags);
  }
  return check(soft_graph_instantiate(graph, pGraphExec));
}

tangError_t tangGraphLaunch(tangGraphExec_t graphExec, tangStream_t stream) {
  if (tangError_t error = requireGraph("tangGraphLaunch", graphExec)) {
    return error;
  }
  soft_stream* target = nullptr;
  if (tangError_t error = resolveStream(stream, &target)) return error;
  return check(soft_graph_launch(graphExec, target));
}

tangError_t tangGraphDestroy(tangGraph_t graph) {
  if (tangError_t error = requireGraph("tangGraphDestroy", graph)) {
    return error;
  }
  return check(soft_graph_destroy(graph));
}

tangError_t tangGraphExecDestroy(tangGraphExec_t graphExec) {
  if (tangError_t error = requireGraph("tangGraphExecDestroy", graphExec)) {
    return error;
  }
  return check(soft_graph_exec_destroy(graphExec));
}
