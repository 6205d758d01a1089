// SPDX-License-Identifier: Apache-2.0
//
// Who looks at the tasks of all streams, or disturbs them: what soft_debug.h
// offers. While nobody does, the streams' modes say so and nothing here runs.
#pragma once

#include <atomic>
#include <cstdint>

#include "softdevice/softdevice.h"
#include "softdevice/stream/enqueue.h"

namespace dipu::softdevice {

// Bits, one per observer.
enum Observer : uint32_t {
  kFaults = 1,
  kTrace = 2,
  kCounters = 4,
  kSchedule = 8
};

extern std::atomic<uint32_t> active_observers;

inline bool observing(Observer observer) {
  return (active_observers.load(std::memory_order_relaxed) & observer) != 0;
}

// Switches an observer on or off, in all streams that exist and will exist.
void setObserving(Observer observer, bool on);
// A stream or device that others can find by now follows the switches.
void observeStream(soft_stream* stream);
void observeDevice(const Device& device);

// Starts what the environment asks for, the first time. Called before the first
// device is created and before host memory is allocated.
void observeAsConfigured();

// Enqueues a task on an observed stream, wrapped in a task that tells the
// observers when it starts and ends.
soft_status enqueueObserved(soft_stream* stream, const Task& task,
                            const PayloadWriter& fill, uint64_t* out_position);

// Runs a part of a graph's replay within the task that replays it, as
// soft_stream::runInPlace does, and tells the observers.
void runObservedNode(soft_stream* stream, const char* label, const Task& task,
                     void* payload);

// The running task has failed.
void observeFailure(soft_status status);

// Whether the stream's next task can run without waiting for another stream or
// for a hung one to be released. False when there is none, or one that runs
// without a turn. For the schedule, which keeps the stream from advancing.
bool isRunnable(const soft_stream& stream);

// What traces and counters call a kernel: `name`, or the place of `task` in its
// file.
std::string kernelName(const char* name, soft_task task);

// CLOCK_MONOTONIC in nanoseconds.
int64_t nowNanoseconds();

}  // namespace dipu::softdevice
