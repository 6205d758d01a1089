// SPDX-License-Identifier: Apache-2.0
//
// What is enqueued on streams that are being captured.
#include "softdevice/graph/capture.h"

#include <cstring>
#include <new>
#include <utility>

#include "softdevice/device/device.h"
#include "softdevice/graph/capture_state.h"
#include "softdevice/stream/event.h"
#include "softdevice/stream/order.h"

namespace dipu::softdevice {
namespace {

void stampNode(void* payload) { (*static_cast<TimeStamp**>(payload))->take(); }

// Finds the stream's capture and lets `body` add to it, unless it is spoilt.
template <typename Body>
bool record(const char* function, const soft_stream* stream,
            soft_status* out_status, const Body& body) {
  const Captures captures;
  Capture* capture = captures.of(stream);
  if (capture == nullptr) return false;
  *out_status = capture->isSpoilt()
                    ? capture->failSpoilt(function)
                    : withHostMemory(function, [&] { return body(capture); });
  return true;
}

// The name of the function that enqueues tasks of a kind.
const char* functionOf(TaskKind kind) {
  switch (kind) {
    case TaskKind::kKernel:
      return "soft_launch";
    case TaskKind::kHostFunction:
      return "soft_launch_host_func";
    case TaskKind::kCopy:
      return "soft_memcpy_async";
    case TaskKind::kFill:
      return "soft_memset_async";
    default:
      return nullptr;  // not for graphs
  }
}

soft_status refuseTask(Capture* capture, const Task& task) {
  return spoil(capture, kindName(task.kind), SOFT_CAPTURE_UNSUPPORTED,
               "a task of the kind '%s' (%s) cannot be captured (capture %lu "
               "of stream %lu)",
               kindName(task.kind), task.name == nullptr ? "" : task.name,
               capture->id(), capture->origin()->id());
}

// The capture of `record`, if it is still under way and may be waited for by
// `stream`, which is in the capture `own` (nullptr: in none).
soft_status findSource(const Captures& captures, soft_stream* stream,
                       Capture* own, const EventRecord& record,
                       Capture** out_source) {
  constexpr const char* kFunction = "soft_stream_wait_event";
  const uint64_t id = record.captured == nullptr ? 0 : record.captured->capture;
  Capture* source = captures.withId(id);
  *out_source = source;
  if (source != nullptr && source->isSpoilt()) {
    return source->failSpoilt(kFunction);
  }
  if (source != nullptr && (own == nullptr || own == source)) return SOFT_OK;
  if (own == nullptr) {
    return fail(SOFT_CAPTURE_UNSUPPORTED,
                "%s: the event was recorded in capture %lu, which has ended; "
                "record it again",
                kFunction, id);
  }
  const soft_status status = spoil(
      own, kFunction, SOFT_CAPTURE_UNSUPPORTED,
      "%s: stream %lu is being captured (capture %lu), but the event was "
      "recorded in %s; record it on a stream of this capture",
      kFunction, stream->id(), own->id(), id == 0 ? "none" : "another capture");
  if (source != nullptr) source->spoil(own->reason().c_str());
  return status;
}

soft_status joinBy(const Captures& captures, soft_stream* stream,
                   const EventRecord& record) {
  Capture* const own = captures.of(stream);
  Capture* source = nullptr;
  if (own != nullptr && own->isSpoilt()) {
    return own->failSpoilt("soft_stream_wait_event");
  }
  if (soft_status status = findSource(captures, stream, own, record, &source)) {
    return status;
  }
  if (stream == stream->device().defaultStream()) {
    return spoil(source, "soft_stream_wait_event", SOFT_CAPTURE_IMPLICIT,
                 "soft_stream_wait_event: the default stream of device %d "
                 "cannot join capture %lu; use a stream of your own",
                 stream->device().index(), source->id());
  }
  source->join(stream, record.captured->nodes);
  return SOFT_OK;
}

}  // namespace

bool captureTask(soft_stream* stream, const Task& task,
                 const PayloadWriter& fill, soft_status* out_status) {
  const char* const function = functionOf(task.kind);
  return record(function == nullptr ? kindName(task.kind) : function, stream,
                out_status, [&](Capture* capture) {
                  if (function == nullptr) return refuseTask(capture, task);
                  GraphNode node{};
                  node.kind = task.kind;
                  node.name = task.name;
                  node.run = task.run;
                  node.bytes = task.bytes;
                  node.moved_bytes = task.moved_bytes;
                  capture->addPayload(fill, &node);
                  capture->add(stream, std::move(node));
                  return soft_status{SOFT_OK};
                });
}

bool captureRecord(soft_stream* stream, bool timed, EventRecord* record,
                   soft_status* out_status) {
  return softdevice::record(
      "soft_event_record", stream, out_status, [&](Capture* capture) {
        *record = EventRecord{};
        if (timed) {
          GraphNode node{};
          node.kind = TaskKind::kTimeStamp;
          node.name = "event";
          node.run = stampNode;
          node.bytes = sizeof(TimeStamp*);
          node.time = std::make_shared<TimeStamp>();
          record->time = node.time;
          const auto fill = [&](void* payload) {
            new (payload) TimeStamp*(node.time.get());
          };
          capture->addPayload(PayloadWriter(fill), &node);
          capture->add(stream, std::move(node));
        }
        record->captured = std::make_shared<CaptureMark>(
            CaptureMark{capture->id(), capture->tips(stream)});
        return soft_status{SOFT_OK};
      });
}

bool captureGraph(soft_stream* stream,
                  const std::shared_ptr<const GraphBody>& body,
                  soft_status* out_status) {
  return record("soft_graph_launch", stream, out_status, [&](Capture* capture) {
    GraphNode node{};
    node.kind = TaskKind::kGraph;
    node.name = "graph";
    node.child = body;
    capture->add(stream, std::move(node));
    return soft_status{SOFT_OK};
  });
}

bool captureWait(soft_stream* stream, const EventRecord& record,
                 soft_status* out_status) {
  const Captures captures;
  if (record.captured == nullptr && captures.of(stream) == nullptr) {
    return false;
  }
  *out_status = withHostMemory("soft_stream_wait_event", [&] {
    return joinBy(captures, stream, record);
  });
  return true;
}

soft_status beginCapture(soft_stream* stream, soft_capture_mode mode) {
  constexpr const char* kFunction = "soft_stream_begin_capture";
  Captures captures;
  if (Capture* capture = captures.of(stream)) {
    return spoil(capture, kFunction, SOFT_CAPTURE_UNSUPPORTED,
                 "%s: stream %lu is being captured already (capture %lu)",
                 kFunction, stream->id(), capture->id());
  }
  // Looked at under the lock: a reset closes streams before it abandons what
  // is captured on them.
  if (stream->closed()) return failStream(kFunction, stream);
  return withHostMemory(kFunction, [&] {
    captures.begin(stream, mode);
    return soft_status{SOFT_OK};
  });
}

soft_status endCapture(soft_stream* stream,
                       std::shared_ptr<const GraphBody>* out_body) {
  constexpr const char* kFunction = "soft_stream_end_capture";
  Captures captures;
  const Capture* found = captures.of(stream);
  if (found == nullptr || found->origin() != stream) {
    return fail(SOFT_CAPTURE_UNMATCHED, "%s: no capture began on stream %lu",
                kFunction, stream->id());
  }
  if (!found->mayEnd(thisThread())) {
    return fail(SOFT_CAPTURE_UNMATCHED,
                "%s: capture %lu of stream %lu was begun by another thread, "
                "which has to end it unless the mode is SOFT_CAPTURE_RELAXED",
                kFunction, found->id(), stream->id());
  }
  // Goes while the list is locked: its streams may then be captured anew.
  const std::unique_ptr<Capture> capture = captures.remove(found);
  return withHostMemory(kFunction, [&] { return capture->finish(out_body); });
}

uint64_t captureOf(const soft_stream* stream, soft_capture_status* out_status) {
  const Captures captures;
  const Capture* capture = captures.of(stream);
  *out_status = capture == nullptr    ? SOFT_CAPTURE_STATUS_NONE
                : capture->isSpoilt() ? SOFT_CAPTURE_STATUS_INVALIDATED
                                      : SOFT_CAPTURE_STATUS_ACTIVE;
  return capture == nullptr ? 0 : capture->id();
}

}  // namespace dipu::softdevice
