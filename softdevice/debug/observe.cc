// SPDX-License-Identifier: Apache-2.0
#include "softdevice/debug/observe.h"

#include <dlfcn.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <mutex>
#include <new>
#include <string>
#include <thread>

#include "softdevice/base/config.h"
#include "softdevice/debug/counters.h"
#include "softdevice/debug/fault.h"
#include "softdevice/debug/schedule.h"
#include "softdevice/debug/trace.h"
#include "softdevice/device/device.h"
#include "softdevice/stream/stream.h"

namespace dipu::softdevice {
namespace {

// Failure of the task that this worker runs.
thread_local soft_status task_status = SOFT_OK;

// The payload of an observed task; that of the task itself follows.
struct alignas(16) Observed {
  Task task;
  Disturbance disturbance;
  uint64_t trace;  // sequence number of its entry, 0: none
  bool counted;

  void* payload() { return this + 1; }
  const void* payload() const { return this + 1; }
};

// Tells the observers about the task while it is in scope, even if it throws.
class Measurement {
 public:
  explicit Measurement(const Observed& observed)
      : observed_(observed), outer_status_(task_status) {
    task_status = SOFT_OK;
    if (observed_.trace != 0) trace().begin(observed_.trace);
    start_ = nowNanoseconds();
  }
  ~Measurement() {
    const int64_t end = nowNanoseconds();
    if (std::uncaught_exceptions() > 0) task_status = SOFT_LAUNCH_FAILURE;
    if (observed_.trace != 0) trace().finish(observed_.trace, task_status);
    if (observed_.counted) {
      counters().add(observed_.task.name, observed_.task.run,
                     static_cast<uint64_t>(end - start_));
    }
    if (task_status == SOFT_OK) task_status = outer_status_;
  }
  Measurement(const Measurement&) = delete;
  Measurement& operator=(const Measurement&) = delete;

 private:
  const Observed& observed_;
  const soft_status outer_status_;  // of the replay that a node is part of
  int64_t start_;
};

void failByInjection(const soft_stream& stream, uint64_t number) {
  char text[256];
  std::snprintf(text, sizeof(text),
                "the kernel was kept from running on device %d, stream %lu, by "
                "fault injection (launch=%lu); soft_fault_clear and "
                "soft_device_reset bring the device back",
                stream.device().index(), stream.id(), number);
  soft_task_fail(SOFT_LAUNCH_FAILURE, text);
}

void runObserved(void* payload) {
  auto* observed = static_cast<Observed*>(payload);
  const Disturbance& disturbance = observed->disturbance;
  soft_stream* const stream = soft_stream::current();
  if (!faults().isReleased(disturbance)) faults().hang(stream, disturbance);
  if (observing(kSchedule)) schedule().awaitTurn(stream);
  if (disturbance.delay_us != 0) {
    std::this_thread::sleep_for(
        std::chrono::microseconds(disturbance.delay_us));
  }
  Measurement measurement(*observed);
  if (disturbance.fails_by != 0) {
    failByInjection(*stream, disturbance.fails_by);
  } else {
    observed->task.run(observed->payload());
  }
}

uint64_t traceTask(soft_stream* stream, const Task& task) {
  const soft_trace_kind kind = traceKind(task.kind);
  if (kind == 0) return 0;
  const TraceCall call{kind, stream->device().index(), stream->id(),
                       task.moved_bytes};
  return trace().add(call, task.kind == TaskKind::kKernel
                               ? kernelName(task.name, task.run)
                               : soft_trace_kind_name(kind));
}

// What is to be told of a task that is about to be enqueued or run.
Observed observe(soft_stream* stream, const Task& task) {
  Observed observed{task, {}, 0, false};
  observed.counted = task.kind == TaskKind::kKernel && observing(kCounters);
  if (observing(kTrace)) observed.trace = traceTask(stream, task);
  return observed;
}

std::mutex& switchMutex() {
  static std::mutex* const mutex = new std::mutex;
  return *mutex;
}

}  // namespace

std::atomic<uint32_t> active_observers{0};

void setObserving(Observer observer, bool on) {
  // Orders switches; streams made meanwhile look after they are listed.
  std::lock_guard<std::mutex> lock(switchMutex());
  if (on) {
    active_observers.fetch_or(observer, std::memory_order_seq_cst);
  } else {
    active_observers.fetch_and(~static_cast<uint32_t>(observer),
                               std::memory_order_seq_cst);
  }
  for (int32_t index = 0; index < kMaxDevices; ++index) {
    if (const Device* device = existingDevice(index)) observeDevice(*device);
  }
}

void observeStream(soft_stream* stream) {
  stream->setObserved(active_observers.load(std::memory_order_seq_cst) != 0);
}

void observeDevice(const Device& device) {
  device.visitStreams([](soft_stream* stream) { observeStream(stream); });
}

namespace {

bool startAsConfigured() {
  const Config& settings = config();
  if (!settings.faults.empty()) faults().add(settings.faults);
  if (settings.has_schedule) schedule().set(settings.schedule_seed);
  if (settings.trace_entries != 0) {
    trace().start(settings.trace_entries);
    setObserving(kTrace, true);
  }
  if (settings.counters) setObserving(kCounters, true);
  return true;
}

}  // namespace

void observeAsConfigured() {
  static const bool started = startAsConfigured();
  (void)started;
}

soft_status enqueueObserved(soft_stream* stream, const Task& task,
                            const PayloadWriter& fill, uint64_t* out_position) {
  Observed observed = observe(stream, task);
  soft_status status = SOFT_OK;
  if (observing(kFaults)) {
    status = faults().onEnqueue(stream, task, &observed.disturbance);
  }
  uint64_t position = 0;
  if (status == SOFT_OK) {
    status = stream->push(
        task.name, runObserved, sizeof(Observed) + task.bytes,
        [&](void* payload) {
          fill((new (payload) Observed(observed))->payload());
        },
        &position);
  }
  if (status != SOFT_OK) {
    trace().finish(observed.trace, status);
    return status;
  }
  if (observed.trace != 0) trace().place(observed.trace, position);
  if (out_position != nullptr) *out_position = position;
  return SOFT_OK;
}

void runObservedNode(soft_stream* stream, const char* label, const Task& task,
                     void* payload) {
  const Observed observed = observe(stream, task);
  if (observed.trace != 0) {
    trace().place(observed.trace, stream->completed() + 1);
  }
  Measurement measurement(observed);
  stream->runInPlace(label, task.run, payload);
}

void observeFailure(soft_status status) { task_status = status; }

bool isRunnable(const soft_stream& stream) {
  const Slot* slot = stream.next();
  if (slot == nullptr || slot->task != runObserved) return false;
  const void* payload = slot->heap == nullptr ? slot->payload : slot->heap;
  const auto* observed = static_cast<const Observed*>(payload);
  const Task& task = observed->task;
  return faults().isReleased(observed->disturbance) &&
         (task.ready == nullptr || task.ready(observed->payload()));
}

std::string kernelName(const char* name, soft_task task) {
  if (name != nullptr) return name;
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(task), &info) == 0) return "unknown";
  if (info.dli_sname != nullptr &&
      info.dli_saddr == reinterpret_cast<void*>(task)) {
    return info.dli_sname;
  }
  const char* slash = std::strrchr(info.dli_fname, '/');
  char text[128];
  std::snprintf(
      text, sizeof(text), "%s+0x%zx",
      slash == nullptr ? info.dli_fname : slash + 1,
      static_cast<std::size_t>(reinterpret_cast<const char*>(task) -
                               static_cast<const char*>(info.dli_fbase)));
  return text;
}

int64_t nowNanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace dipu::softdevice
