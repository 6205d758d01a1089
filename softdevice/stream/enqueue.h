// SPDX-License-Identifier: Apache-2.0
//
// The one way work gets into a stream.
#pragma once

#include <cstddef>
#include <cstdint>

#include "softdevice/softdevice.h"
#include "softdevice/stream/stream.h"

namespace dipu::softdevice {

enum class TaskKind : uint8_t {
  kKernel,
  kHostFunction,
  kCopy,
  kFill,
  kWait,       // for another stream
  kTimeStamp,  // of an event
  kGraph,      // a part of a graph's replay
  kFailure     // reports what was found wrong while enqueueing
};

// What is enqueued, without its payload. Payloads of the first four kinds may
// be recorded in a graph, so they can be copied bytewise and run again.
struct Task {
  TaskKind kind;
  const char* name;  // static storage; nullptr: unknown
  soft_task run;
  std::size_t bytes;  // of payload
  // For traces: bytes copied or filled.
  uint64_t moved_bytes = 0;
  // Whether a task that waits for other streams could run now; nullptr: always.
  bool (*ready)(const void* payload) = nullptr;
};

// Refers to a function object that writes a payload; lives for one call.
class PayloadWriter {
 public:
  template <typename Fill>
  explicit PayloadWriter(const Fill& fill)
      : fill_(&fill), call_([](const void* object, void* payload) {
          (*static_cast<const Fill*>(object))(payload);
        }) {}
  void operator()(void* payload) const { call_(fill_, payload); }

 private:
  const void* fill_;
  void (*call_)(const void* object, void* payload);
};

// Enqueues on a stream that somebody watches, see soft_stream::isWatched.
soft_status enqueueWatched(soft_stream* stream, const Task& task,
                           const PayloadWriter& fill, uint64_t* out_position);

// Enqueues a task whose payload fill(void*) writes. The caller has entered the
// stream (order.h). Blocks only while the ring is full. *out_position, if
// given, becomes the task's position.
template <typename Fill>
soft_status enqueue(soft_stream* stream, const Task& task, const Fill& fill,
                    uint64_t* out_position = nullptr) {
  if (stream->isWatched()) {
    return enqueueWatched(stream, task, PayloadWriter(fill), out_position);
  }
  return stream->push(task.name, task.run, task.bytes, fill, out_position);
}

}  // namespace dipu::softdevice
