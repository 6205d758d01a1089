// SPDX-License-Identifier: Apache-2.0
//
// Streams and events.
#include <algorithm>
#include <cstdint>

#include "core/plugin_kit/error.h"
#include "core/plugin_kit/guard.h"
#include "core/plugin_kit/table.h"
#include "vendors/droplet/context.h"
#include "vendors/droplet/runtime.h"
#include "vendors/droplet/status.h"
#include "vendors/droplet/tang/tang_runtime.h"

namespace dipu::vendors::droplet {
namespace {

using plugin_kit::kGuarded;
using plugin_kit::makeError;
using plugin_kit::makeTable;

// Streams.

dipu_error* getPriorityRange(int32_t device, int32_t* out_least,
                             int32_t* out_greatest) {
  int least = 0;
  int greatest = 0;
  const tangError_t status = onDevice(device, [&] {
    return tangDeviceGetStreamPriorityRange(&least, &greatest);
  });
  if (dipu_error* error = check(
          status, "tangDeviceGetStreamPriorityRange of device %d", device)) {
    return error;
  }
  *out_least = least;
  *out_greatest = greatest;
  return nullptr;
}

dipu_error* createStream(const dipu_stream_create_args* args,
                         dipu_stream** out_stream) {
  const int32_t device = args->device;
  int32_t least = 0;
  int32_t greatest = 0;
  if (dipu_error* error = getPriorityRange(device, &least, &greatest)) {
    return error;
  }
  tangStream_t stream = nullptr;
  const tangError_t status = onDevice(device, [&] {
    return tangStreamCreateWithPriority(
        &stream, tangStreamNonBlocking,
        std::clamp(args->priority, greatest, least));
  });
  if (dipu_error* error =
          check(status, "tangStreamCreateWithPriority(%d) on device %d",
                args->priority, device)) {
    return error;
  }
  *out_stream = reinterpret_cast<dipu_stream*>(stream);
  return nullptr;
}

void destroyStream(int32_t, dipu_stream* stream) {
  if (stream != nullptr) tangStreamDestroy(sdkHandle(stream));
}

dipu_error* defaultStream(int32_t device, dipu_stream** out_stream) {
  tangStream_t stream = nullptr;
  if (dipu_error* error = check(droplet::getDefaultStream(device, &stream),
                                "default stream of device %d", device)) {
    return error;
  }
  *out_stream = reinterpret_cast<dipu_stream*>(stream);
  return nullptr;
}

// The answer of a query: "not ready" is no failure.
dipu_error* answerQuery(tangError_t status, const char* call,
                        int32_t* out_done) {
  if (status != tangSuccess && status != tangErrorNotReady) {
    return check(status, "%s", call);
  }
  *out_done = status == tangSuccess ? 1 : 0;
  return nullptr;
}

dipu_error* queryStream(dipu_stream* stream, int32_t* out_done) {
  return answerQuery(tangStreamQuery(sdkHandle(stream)), "tangStreamQuery",
                     out_done);
}

dipu_error* synchronizeStream(dipu_stream* stream) {
  return check(tangStreamSynchronize(sdkHandle(stream)),
               "tangStreamSynchronize");
}

dipu_error* waitEvent(dipu_stream* stream, dipu_event* event) {
  return check(
      tangStreamWaitEvent(sdkHandle(stream), sdkHandle(event), /*flag=*/0),
      "tangStreamWaitEvent");
}

dipu_error* launchHostFunc(dipu_stream* stream, dipu_host_func func,
                           void* argument) {
  return check(tangLaunchHostFunc(sdkHandle(stream), func, argument),
               "tangLaunchHostFunc");
}

// Events.

dipu_error* createEvent(int32_t device, dipu_event_flags flags,
                        dipu_event** out_event) {
  constexpr dipu_event_flags kKnown =
      DIPU_EVENT_TIMING | DIPU_EVENT_BLOCKING_SYNC;
  if ((flags & ~kKnown) != 0) {
    return makeError(DIPU_UNIMPLEMENTED, 0,
                     "tang has no events with the flags 0x%x%s",
                     flags & ~kKnown,
                     (flags & DIPU_EVENT_INTERPROCESS) != 0
                         ? "; it does not share events between processes"
                         : "");
  }
  unsigned sdk_flags = tangEventDefault;
  if ((flags & DIPU_EVENT_TIMING) == 0) sdk_flags |= tangEventDisableTiming;
  if ((flags & DIPU_EVENT_BLOCKING_SYNC) != 0) {
    sdk_flags |= tangEventBlockingSync;
  }
  tangEvent_t event = nullptr;
  const tangError_t status = onDevice(
      device, [&] { return tangEventCreateWithFlags(&event, sdk_flags); });
  if (dipu_error* error =
          check(status, "tangEventCreateWithFlags(%u) on device %d", sdk_flags,
                device)) {
    return error;
  }
  *out_event = reinterpret_cast<dipu_event*>(event);
  return nullptr;
}

void destroyEvent(dipu_event* event) {
  if (event != nullptr) tangEventDestroy(sdkHandle(event));
}

dipu_error* recordEvent(dipu_event* event, dipu_stream* stream) {
  return check(tangEventRecord(sdkHandle(event), sdkHandle(stream)),
               "tangEventRecord");
}

dipu_error* queryEvent(dipu_event* event, int32_t* out_done) {
  return answerQuery(tangEventQuery(sdkHandle(event)), "tangEventQuery",
                     out_done);
}

dipu_error* synchronizeEvent(dipu_event* event) {
  return check(tangEventSynchronize(sdkHandle(event)), "tangEventSynchronize");
}

dipu_error* elapsed(dipu_event* start, dipu_event* end, double* out_ms) {
  float milliseconds = 0;
  const tangError_t status =
      tangEventElapsedTime(&milliseconds, sdkHandle(start), sdkHandle(end));
  if (status == tangErrorInvalidResourceHandle) {
    return makeError(DIPU_FAILED_PRECONDITION, status,
                     "tangEventElapsedTime failed: one of the events has not "
                     "been recorded or was created without timing");
  }
  if (dipu_error* error = check(status, "tangEventElapsedTime")) return error;
  *out_ms = milliseconds;
  return nullptr;
}

constexpr dipu_stream_api makeStreamApi() {
  auto api = makeTable<dipu_stream_api>(DIPU_STREAM_API_VERSION);
  api.create = kGuarded<createStream>;
  api.destroy = kGuarded<destroyStream>;
  api.get_default = kGuarded<defaultStream>;
  api.query = kGuarded<queryStream>;
  api.synchronize = kGuarded<synchronizeStream>;
  api.wait_event = kGuarded<waitEvent>;
  api.get_priority_range = kGuarded<getPriorityRange>;
  api.launch_host_func = kGuarded<launchHostFunc>;
  return api;
}

constexpr dipu_event_api makeEventApi() {
  auto api = makeTable<dipu_event_api>(DIPU_EVENT_API_VERSION);
  api.create = kGuarded<createEvent>;
  api.destroy = kGuarded<destroyEvent>;
  api.record = kGuarded<recordEvent>;
  api.query = kGuarded<queryEvent>;
  api.synchronize = kGuarded<synchronizeEvent>;
  api.elapsed = kGuarded<elapsed>;
  return api;
}

}  // namespace

constexpr dipu_stream_api kStreamApi = makeStreamApi();
constexpr dipu_event_api kEventApi = makeEventApi();

}  // namespace dipu::vendors::droplet
