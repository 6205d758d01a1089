// SPDX-License-Identifier: Apache-2.0
//
// Enqueueing work, and what running work may call.
#include <cstdio>
#include <cstring>
#include <new>
#include <string>

#include "softdevice/base/status.h"
#include "softdevice/debug/observe.h"
#include "softdevice/device/device.h"
#include "softdevice/graph/capture.h"
#include "softdevice/memory/pinned.h"
#include "softdevice/softdevice.h"
#include "softdevice/stream/enqueue.h"
#include "softdevice/stream/order.h"
#include "softdevice/stream/stream.h"

using dipu::softdevice::config;
using dipu::softdevice::Device;
using dipu::softdevice::DeviceMemory;
using dipu::softdevice::deviceOfAddress;
using dipu::softdevice::enqueue;
using dipu::softdevice::enterStream;
using dipu::softdevice::fail;
using dipu::softdevice::observeFailure;
using dipu::softdevice::pinnedRegistry;
using dipu::softdevice::Task;
using dipu::softdevice::TaskKind;

namespace {

struct HostCall {
  void (*function)(void*);
  void* argument;
};

void hostCallTask(void* payload) {
  const auto* call = static_cast<const HostCall*>(payload);
  call->function(call->argument);
}

struct Failure {
  char message[SOFT_INLINE_PAYLOAD];
};

void illegalAddressTask(void* payload) {
  soft_task_fail(SOFT_ILLEGAL_ADDRESS,
                 static_cast<const Failure*>(payload)->message);
}

void* failTranslation(soft_stream* stream, const void* ptr, std::size_t bytes,
                      const char* reason) {
  Failure failure;
  std::snprintf(failure.message, sizeof(failure.message),
                "illegal address %p (%zu bytes) on device %d, stream %lu: %s",
                ptr, bytes, stream->device().index(), stream->id(), reason);
  if (stream->isCapturing()) {
    dipu::softdevice::spoilByAddress("soft_translate", stream, failure.message);
  } else if (enterStream("soft_translate", stream) == SOFT_OK) {
    const Task task{TaskKind::kFailure, nullptr, illegalAddressTask,
                    sizeof(failure)};
    enqueue(stream, task, [&](void* payload) {
      std::memcpy(payload, &failure, sizeof(failure));
    });
  }
  return nullptr;
}

// Everything but allocated memory of the stream's own device. Apart, so that
// soft_translate saves no registers.
__attribute__((noinline, cold)) void* translateOther(soft_stream* stream,
                                                     const void* ptr,
                                                     std::size_t bytes) {
  Device& own = stream->device();
  if (bytes == 0) {
    const soft_address_map& map = own.memory().map();
    return reinterpret_cast<void*>(map.base + map.offset);
  }
  Device* device = deviceOfAddress(ptr);
  if (device == nullptr) {
    if (pinnedRegistry().holds(ptr, bytes)) return const_cast<void*>(ptr);
    return failTranslation(stream, ptr, bytes,
                           "this is host memory that is not pinned");
  }
  const DeviceMemory& memory = device->memory();
  if (memory.virtualMemory().covers(reinterpret_cast<uintptr_t>(ptr))) {
    void* backing = memory.translateVirtual(own.index(), ptr, bytes);
    if (backing != nullptr) return backing;
    return failTranslation(stream, ptr, bytes,
                           "reserved addresses, not all of them mapped with "
                           "access for this device");
  }
  if (device != &own && !own.canAccess(device->index())) {
    return failTranslation(stream, ptr, bytes,
                           "memory of another device, to which peer access is "
                           "not enabled");
  }
  void* backing = memory.translate(ptr, bytes);
  if (backing != nullptr) return backing;
  return failTranslation(stream, ptr, bytes,
                         "device memory that is not allocated");
}

inline soft_status launch(soft_stream* stream, const char* name, soft_task task,
                          const void* payload, std::size_t bytes) {
  if (soft_status status = enterStream("soft_launch", stream)) return status;
  if (task == nullptr || (payload == nullptr && bytes != 0)) {
    return fail(SOFT_INVALID_VALUE, "soft_launch: %s is NULL",
                task == nullptr ? "task" : "payload");
  }
  return enqueue(stream, {TaskKind::kKernel, name, task, bytes},
                 [&](void* copy) {
                   if (bytes != 0) std::memcpy(copy, payload, bytes);
                 });
}

// Depth of soft_team_begin in the running task.
thread_local int team_depth = 0;

}  // namespace

soft_status soft_launch(soft_stream* stream, soft_task task,
                        const void* payload, size_t bytes) {
  return launch(stream, nullptr, task, payload, bytes);
}

soft_status soft_launch_named(soft_stream* stream, const char* name,
                              soft_task task, const void* payload,
                              size_t bytes) {
  return launch(stream, name, task, payload, bytes);
}

soft_status soft_launch_host_func(soft_stream* stream, void (*func)(void*),
                                  void* argument) {
  if (soft_status status = enterStream("soft_launch_host_func", stream)) {
    return status;
  }
  if (func == nullptr) {
    return fail(SOFT_INVALID_VALUE, "soft_launch_host_func: func is NULL");
  }
  const Task task{TaskKind::kHostFunction, "host function", hostCallTask,
                  sizeof(HostCall)};
  return enqueue(stream, task, [&](void* payload) {
    new (payload) HostCall{func, argument};
  });
}

#undef soft_translate  // callers may see it as SOFT_DIRECT_ADDRESSES says
void* soft_translate(soft_stream* stream, const void* ptr, size_t bytes) {
  if (void* backing = stream->device().memory().translate(ptr, bytes)) {
    return backing;
  }
  return translateOther(stream, ptr, bytes);
}

void soft_task_fail(soft_status status, const char* message) {
  soft_stream* stream = soft_stream::current();
  if (stream == nullptr) return;
  std::string text = message == nullptr ? "no reason given" : message;
  if (const char* name = stream->runningName()) {
    text = std::string(name) + ": " + text;
  }
  observeFailure(status);
  stream->device().setError(status, text.c_str());
}

soft_stream* soft_current_stream(void) { return soft_stream::current(); }

int32_t soft_team_begin(void) {
  soft_stream* stream = soft_stream::current();
  // A second team inside of the first, or one outside of tasks, would not
  // take turns with anybody.
  if (stream == nullptr || ++team_depth > 1) return 1;
  stream->device().team().lock(stream->priority());
  return config().team_threads;
}

void dipu::softdevice::leaveTeam() {
  if (team_depth == 0) return;
  team_depth = 0;
  soft_stream::current()->device().team().unlock();
}

void soft_team_end(void) {
  soft_stream* stream = soft_stream::current();
  if (stream == nullptr || team_depth == 0 || --team_depth > 0) return;
  stream->device().team().unlock();
}
