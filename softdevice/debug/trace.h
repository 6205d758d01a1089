// SPDX-License-Identifier: Apache-2.0
//
// A record of calls and of what has become of them, see soft_debug.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "softdevice/debug/observe.h"
#include "softdevice/soft_debug.h"

namespace dipu::softdevice {

// What is known of an entry when it begins.
struct TraceCall {
  soft_trace_kind kind;
  int32_t device = -1;
  uint64_t stream = SOFT_TRACE_NO_STREAM;
  uint64_t bytes = 0;
  uint64_t position = 0;
  uint64_t other_stream = SOFT_TRACE_NO_STREAM;
};

// Entries are named by their sequence number; what concerns one that is no
// longer kept is ignored. Thread-safe.
class Trace {
 public:
  void start(std::size_t entries);
  void read(soft_trace_entry* out, std::size_t capacity, std::size_t* out_count,
            uint64_t* out_dropped) const;

  // Returns its sequence number.
  uint64_t add(const TraceCall& call, const std::string& name);
  void place(uint64_t sequence, uint64_t position);
  void begin(uint64_t sequence);
  void finish(uint64_t sequence, soft_status status);

 private:
  soft_trace_entry* find(uint64_t sequence);

  mutable std::mutex mutex_;  // guards all below; nothing is locked under it
  std::vector<soft_trace_entry> entries_;  // a ring
  uint64_t first_ = 1;  // sequence number of the first since start()
  uint64_t next_ = 1;
};

Trace& trace();

// Kind of entry for a task; 0: traced as a call, or not at all.
soft_trace_kind traceKind(TaskKind kind);

// Does `call`, which returns a status, and traces it.
template <typename Call>
soft_status traced(const TraceCall& entry, const Call& call) {
  if (!observing(kTrace)) return call();
  const uint64_t sequence =
      trace().add(entry, soft_trace_kind_name(entry.kind));
  trace().begin(sequence);
  const soft_status status = call();
  trace().finish(sequence, status);
  return status;
}

// Traces a call that has succeeded already.
inline void traceDone(const TraceCall& entry) {
  traced(entry, [] { return soft_status{SOFT_OK}; });
}

}  // namespace dipu::softdevice
