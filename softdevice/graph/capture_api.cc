// SPDX-License-Identifier: Apache-2.0
#include <new>

#include "softdevice/base/status.h"
#include "softdevice/device/device.h"
#include "softdevice/graph/capture.h"
#include "softdevice/soft_graph.h"
#include "softdevice/stream/order.h"
#include "softdevice/stream/stream.h"

using dipu::softdevice::beginCapture;
using dipu::softdevice::captureOf;
using dipu::softdevice::endCapture;
using dipu::softdevice::fail;
using dipu::softdevice::failStream;
using dipu::softdevice::GraphBody;
using dipu::softdevice::processIsRunning;

namespace {

// Only the handle is checked: none of this needs order with other streams.
soft_status checkStream(const char* function, const soft_stream* stream) {
  const bool good =
      stream != nullptr && !stream->closed() && processIsRunning();
  return good ? SOFT_OK : failStream(function, stream);
}

soft_status checkMode(const char* function, soft_capture_mode mode) {
  if (mode >= SOFT_CAPTURE_GLOBAL && mode <= SOFT_CAPTURE_RELAXED) {
    return SOFT_OK;
  }
  return fail(SOFT_INVALID_VALUE, "%s: there is no capture mode %d", function,
              mode);
}

}  // namespace

soft_status soft_stream_begin_capture(soft_stream* stream,
                                      soft_capture_mode mode) {
  constexpr const char* kFunction = "soft_stream_begin_capture";
  if (soft_status status = checkStream(kFunction, stream)) return status;
  if (soft_status status = checkMode(kFunction, mode)) return status;
  if (stream == stream->device().defaultStream()) {
    return fail(SOFT_CAPTURE_UNSUPPORTED,
                "%s: the default stream of device %d cannot be captured; use "
                "a stream of your own",
                kFunction, stream->device().index());
  }
  return beginCapture(stream, mode);
}

soft_status soft_stream_end_capture(soft_stream* stream,
                                    soft_graph** out_graph) {
  constexpr const char* kFunction = "soft_stream_end_capture";
  if (soft_status status = checkStream(kFunction, stream)) return status;
  if (out_graph == nullptr) {
    return fail(SOFT_INVALID_VALUE, "%s: out_graph is NULL", kFunction);
  }
  std::shared_ptr<const GraphBody> body;
  if (soft_status status = endCapture(stream, &body)) return status;
  auto* graph = new (std::nothrow) soft_graph{std::move(body)};
  if (graph == nullptr) {
    return fail(SOFT_OUT_OF_MEMORY, "%s: no host memory", kFunction);
  }
  *out_graph = graph;
  return SOFT_OK;
}

soft_status soft_stream_get_capture(soft_stream* stream,
                                    soft_capture_status* out_status,
                                    uint64_t* out_id) {
  constexpr const char* kFunction = "soft_stream_get_capture";
  if (soft_status status = checkStream(kFunction, stream)) return status;
  if (out_status == nullptr) {
    return fail(SOFT_INVALID_VALUE, "%s: out_status is NULL", kFunction);
  }
  const uint64_t id = captureOf(stream, out_status);
  if (out_id != nullptr) *out_id = id;
  return SOFT_OK;
}

soft_status soft_thread_exchange_capture_mode(soft_capture_mode* inout_mode) {
  constexpr const char* kFunction = "soft_thread_exchange_capture_mode";
  if (inout_mode == nullptr) {
    return fail(SOFT_INVALID_VALUE, "%s: inout_mode is NULL", kFunction);
  }
  if (soft_status status = checkMode(kFunction, *inout_mode)) return status;
  *inout_mode = dipu::softdevice::exchangeThreadMode(*inout_mode);
  return SOFT_OK;
}
