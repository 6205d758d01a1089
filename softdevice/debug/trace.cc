// SPDX-License-Identifier: Apache-2.0
#include "softdevice/debug/trace.h"

#include <algorithm>
#include <cstdio>

namespace dipu::softdevice {
namespace {

thread_local const char* label = nullptr;

template <std::size_t Size>
void copyText(const char* text, char (*out)[Size]) {
  std::snprintf(*out, Size, "%s", text == nullptr ? "" : text);
}

}  // namespace

Trace& trace() {
  // Never destroyed: workers may still run while the process exits.
  static Trace* const only = new Trace;
  return *only;
}

void Trace::start(std::size_t entries) {
  std::lock_guard<std::mutex> lock(mutex_);
  entries_.assign(entries, soft_trace_entry{});
  // Numbers go on, so late news of an entry of before finds nothing.
  first_ = next_;
}

void Trace::read(soft_trace_entry* out, std::size_t capacity,
                 std::size_t* out_count, uint64_t* out_dropped) const {
  std::lock_guard<std::mutex> lock(mutex_);
  const uint64_t made = next_ - first_;
  const uint64_t kept = std::min<uint64_t>(made, entries_.size());
  for (uint64_t i = 0; i < std::min<uint64_t>(kept, capacity); ++i) {
    out[i] = entries_[(next_ - kept + i) % entries_.size()];
    out[i].sequence -= first_ - 1;
  }
  *out_count = kept;
  if (out_dropped != nullptr) *out_dropped = made - kept;
}

uint64_t Trace::add(const TraceCall& call, const std::string& name) {
  soft_trace_entry entry{};
  entry.kind = call.kind;
  entry.device = call.device;
  entry.stream = call.stream;
  entry.position = call.position;
  entry.other_stream = call.other_stream;
  entry.bytes = call.bytes;
  entry.called_ns = nowNanoseconds();
  entry.status = SOFT_NOT_READY;
  copyText(name.c_str(), &entry.name);
  copyText(label, &entry.label);
  std::lock_guard<std::mutex> lock(mutex_);
  // Switched off and never started, or just being started.
  if (entries_.empty()) return 0;
  entry.sequence = next_++;
  entries_[entry.sequence % entries_.size()] = entry;
  return entry.sequence;
}

soft_trace_entry* Trace::find(uint64_t sequence) {
  if (entries_.empty()) return nullptr;
  soft_trace_entry* entry = &entries_[sequence % entries_.size()];
  return entry->sequence == sequence && sequence != 0 ? entry : nullptr;
}

void Trace::place(uint64_t sequence, uint64_t position) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (soft_trace_entry* entry = find(sequence)) entry->position = position;
}

void Trace::begin(uint64_t sequence) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (soft_trace_entry* entry = find(sequence)) {
    entry->started_ns = nowNanoseconds();
  }
}

void Trace::finish(uint64_t sequence, soft_status status) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (soft_trace_entry* entry = find(sequence)) {
    entry->finished_ns = nowNanoseconds();
    entry->status = status;
  }
}

soft_trace_kind traceKind(TaskKind kind) {
  switch (kind) {
    case TaskKind::kKernel:
      return SOFT_TRACE_KERNEL;
    case TaskKind::kHostFunction:
      return SOFT_TRACE_HOST_FUNCTION;
    case TaskKind::kCopy:
      return SOFT_TRACE_COPY;
    case TaskKind::kFill:
      return SOFT_TRACE_FILL;
    case TaskKind::kGraph:
      return SOFT_TRACE_GRAPH;
    case TaskKind::kFailure:
      return SOFT_TRACE_FAILURE;
    default:
      return 0;
  }
}

}  // namespace dipu::softdevice

const char* soft_trace_kind_name(soft_trace_kind kind) {
  switch (kind) {
    case SOFT_TRACE_KERNEL:
      return "kernel";
    case SOFT_TRACE_HOST_FUNCTION:
      return "host function";
    case SOFT_TRACE_COPY:
      return "copy";
    case SOFT_TRACE_FILL:
      return "fill";
    case SOFT_TRACE_FAILURE:
      return "failure";
    case SOFT_TRACE_EVENT_RECORD:
      return "event record";
    case SOFT_TRACE_WAIT_EVENT:
      return "wait event";
    case SOFT_TRACE_ALLOCATE:
      return "allocate";
    case SOFT_TRACE_FREE:
      return "free";
    case SOFT_TRACE_HOST_ALLOCATE:
      return "host allocate";
    case SOFT_TRACE_HOST_FREE:
      return "host free";
    case SOFT_TRACE_SYNCHRONIZE:
      return "synchronize";
    case SOFT_TRACE_GRAPH:
      return "graph";
    default:
      return "unknown";
  }
}

void soft_set_label(const char* text) { dipu::softdevice::label = text; }
