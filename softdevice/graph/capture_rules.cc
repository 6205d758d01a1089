// SPDX-License-Identifier: Apache-2.0
//
// Which calls are refused while something is being captured.
#include <cstdio>

#include "softdevice/device/device.h"
#include "softdevice/graph/capture.h"
#include "softdevice/graph/capture_state.h"
#include "softdevice/stream/stream.h"

namespace dipu::softdevice {
namespace {

thread_local soft_capture_mode thread_mode = SOFT_CAPTURE_GLOBAL;

// Fails because of every capture for which `concerns` is true; the first one is
// reported.
template <typename Concerns>
soft_status spoilAll(const char* function, const char* what,
                     const Concerns& concerns) {
  const Captures captures;
  soft_status status = SOFT_OK;
  char message[512] = "";
  for (const auto& capture : captures.all()) {
    if (!concerns(*capture)) continue;
    const soft_status now =
        spoil(capture.get(), function, SOFT_CAPTURE_UNSUPPORTED,
              "%s: %s while stream %lu is being captured (capture %lu)",
              function, what, capture->origin()->id(), capture->id());
    if (status != SOFT_OK) continue;
    status = now;
    std::snprintf(message, sizeof(message), "%s", soft_last_message());
  }
  return status == SOFT_OK ? status : fail(status, "%s", message);
}

}  // namespace

soft_capture_mode exchangeThreadMode(soft_capture_mode mode) {
  const soft_capture_mode before = thread_mode;
  thread_mode = mode;
  return before;
}

soft_status checkUnsafeSlowly(const char* function) {
  const uint64_t thread = thisThread();
  return spoilAll(function,
                  "an unsafe call, see soft_capture_mode, is not permitted",
                  [&](const Capture& capture) {
                    return capture.forbidsUnsafe(thread, thread_mode);
                  });
}

soft_status checkBlockingUnsafe(const char* function) {
  if (soft_status status = checkMayBlock(function)) return status;
  return checkUnsafe(function);
}

soft_status checkNotCaptured(const char* function, const soft_stream* stream,
                             const char* reason) {
  if (!stream->isCapturing()) return SOFT_OK;
  const Captures captures;
  Capture* capture = captures.of(stream);
  if (capture == nullptr) return SOFT_OK;
  return spoil(capture, function, SOFT_CAPTURE_UNSUPPORTED,
               "%s: %s while stream %lu is being captured (capture %lu)",
               function, reason == nullptr ? "not permitted" : reason,
               stream->id(), capture->id());
}

soft_status checkNotCaptured(const char* function, const EventRecord& record) {
  if (record.captured == nullptr) return SOFT_OK;
  const Captures captures;
  const uint64_t id = record.captured->capture;
  Capture* capture = captures.withId(id);
  constexpr const char* kFormat =
      "%s: the event was recorded in capture %lu and stands for no work; "
      "record it outside of a capture first";
  if (capture == nullptr) {
    return fail(SOFT_CAPTURE_UNSUPPORTED, kFormat, function, id);
  }
  return spoil(capture, function, SOFT_CAPTURE_UNSUPPORTED, kFormat, function,
               id);
}

soft_status checkNotCaptured(const char* function, const Device& device) {
  if (captures_underway.load(std::memory_order_relaxed) == 0) return SOFT_OK;
  return spoilAll(
      function, "the device cannot be waited for",
      [&](const Capture& capture) { return capture.contains(device); });
}

soft_status checkNotImplied(const char* function, const soft_stream* stream) {
  if (!stream->isCapturing()) return SOFT_OK;
  const Captures captures;
  Capture* capture = captures.of(stream);
  if (capture == nullptr) return SOFT_OK;
  return spoil(capture, function, SOFT_CAPTURE_IMPLICIT,
               "%s: the default stream of device %d would have to wait for "
               "stream %lu, which is being captured (capture %lu); use a "
               "stream with SOFT_STREAM_NON_BLOCKING",
               function, stream->device().index(), stream->id(), capture->id());
}

void spoilByAddress(const char* function, const soft_stream* stream,
                    const char* message) {
  const Captures captures;
  if (Capture* capture = captures.of(stream)) {
    spoil(capture, function, SOFT_ILLEGAL_ADDRESS, "%s: %s", function, message);
  }
}

void spoilByFailure(const soft_stream* stream) {
  if (!stream->isCapturing()) return;
  const Captures captures;
  if (Capture* capture = captures.of(stream)) {
    capture->spoil(soft_last_message());
  }
}

void abandonCaptures(const Device& device) {
  Captures captures;
  for (std::size_t i = captures.all().size(); i-- > 0;) {
    Capture* capture = captures.all()[i].get();
    if (&capture->origin()->device() == &device) {
      captures.remove(capture);  // nobody can end it any more
    } else if (capture->contains(device)) {
      fail(SOFT_CAPTURE_INVALIDATED, "soft_device_reset of device %d",
           device.index());
      capture->spoil(soft_last_message());
    }
  }
}

}  // namespace dipu::softdevice
