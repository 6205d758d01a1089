// SPDX-License-Identifier: Apache-2.0
//
// Recording streams, and the rules for calls meanwhile.
//
// Note [Capturing]
// A stream that is being captured has its mode bit kCapturing set and is a
// lane of one Capture. All captures under way are listed in one place, under
// one mutex: capturing is rare, and what is not capturing looks at the bit, or
// at the number of captures, and nothing else.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "softdevice/graph/graph.h"
#include "softdevice/softdevice.h"
#include "softdevice/stream/enqueue.h"
#include "softdevice/stream/event.h"

namespace dipu::softdevice {

// Where in a capture an event was recorded.
struct CaptureMark {
  uint64_t capture;
  std::vector<uint32_t> nodes;  // reached when these have run
};

// ---- What is enqueued on a stream with isCapturing(). Each of these returns
// false, having done nothing, when the capture has ended meanwhile.

// Makes the task a node.
bool captureTask(soft_stream* stream, const Task& task,
                 const PayloadWriter& fill, soft_status* out_status);
// Records an event; `record` is what the event is to hold.
bool captureRecord(soft_stream* stream, bool timed, EventRecord* record,
                   soft_status* out_status);
// Makes a launch of a graph a node.
bool captureGraph(soft_stream* stream,
                  const std::shared_ptr<const GraphBody>& body,
                  soft_status* out_status);
// Waits for an event. Also for streams that are not captured, if the record is
// of a capture: they join it.
bool captureWait(soft_stream* stream, const EventRecord& record,
                 soft_status* out_status);

// ---- The rules. Each of these notes its failure and spoils the captures
// concerned; SOFT_OK when there is nothing to object to.

// How many captures are under way.
extern std::atomic<int> captures_underway;

// `function` is about to do what the calling thread's own captures, or those of
// others, may forbid: see soft_capture_mode.
soft_status checkUnsafeSlowly(const char* function);
inline soft_status checkUnsafe(const char* function) {
  return captures_underway.load(std::memory_order_relaxed) == 0
             ? SOFT_OK
             : checkUnsafeSlowly(function);
}
// `function` blocks as well, so no running task may call it either.
soft_status checkBlockingUnsafe(const char* function);
// `function` needs the stream not to be captured, or, with a reason, cannot be
// captured the way it was called.
soft_status checkNotCaptured(const char* function, const soft_stream* stream,
                             const char* reason = nullptr);
// `function` needs an event that was not recorded in a capture.
soft_status checkNotCaptured(const char* function, const EventRecord& record);
// `function` needs all streams of the device not to be captured.
soft_status checkNotCaptured(const char* function, const Device& device);
// The default stream would have to wait for `stream`.
soft_status checkNotImplied(const char* function, const soft_stream* stream);
// `function` has been given an address that it refuses, as `message` tells.
void spoilByAddress(const char* function, const soft_stream* stream,
                    const char* message);
// A call on `stream` has failed, as the last message tells, and the stream's
// capture lacks what the call was to record.
void spoilByFailure(const soft_stream* stream);
// The device's streams are about to go away.
void abandonCaptures(const Device& device);

// ---- For capture_api.cc, which checks the arguments.

soft_status beginCapture(soft_stream* stream, soft_capture_mode mode);
soft_status endCapture(soft_stream* stream,
                       std::shared_ptr<const GraphBody>* out_body);
// Returns the number of the capture, 0 if there is none.
uint64_t captureOf(const soft_stream* stream, soft_capture_status* out_status);
soft_capture_mode exchangeThreadMode(soft_capture_mode mode);

}  // namespace dipu::softdevice
