// SPDX-License-Identifier: Apache-2.0
#include "vendors/droplet/tang/status.h"
#include "vendors/droplet/tang/tang_runtime.h"

using dipu::tang::check;
using dipu::tang::codeOf;
using dipu::tang::currentDevice;
using dipu::tang::fail;
using dipu::tang::requireOutput;
using dipu::tang::resolveStream;

namespace {

struct Callback {
  tangStreamCallback_t function;
  tangStream_t stream;
  void* user_data;
};

void runCallback(void* payload) {
  const auto* callback = static_cast<const Callback*>(payload);
  const int device = soft_stream_device(soft_current_stream());
  callback->function(callback->stream, codeOf(soft_device_get_error(device)),
                     callback->user_data);
}

}  // namespace

tangError_t dipu::tang::resolveStream(tangStream_t stream,
                                      soft_stream** out_stream) {
  if (stream == nullptr || stream == tangStreamLegacy) {
    return check(soft_stream_get_default(currentDevice(), out_stream));
  }
  if (stream == tangStreamPerThread) {
    return perThreadStream(currentDevice(), out_stream);
  }
  *out_stream = stream;
  return tangSuccess;
}

tangError_t tangStreamCreate(tangStream_t* stream) {
  return tangStreamCreateWithFlags(stream, tangStreamDefault);
}

tangError_t tangStreamCreateWithFlags(tangStream_t* stream,
                                      unsigned int flags) {
  return tangStreamCreateWithPriority(stream, flags, /*priority=*/0);
}

tangError_t tangStreamCreateWithPriority(tangStream_t* stream,
                                         unsigned int flags, int priority) {
  return check(soft_stream_create(currentDevice(), priority, flags, stream));
}

tangError_t tangStreamDestroy(tangStream_t stream) {
  if (stream == nullptr || stream == tangStreamLegacy ||
      stream == tangStreamPerThread) {
    return fail(tangErrorInvalidResourceHandle,
                "tangStreamDestroy: a default stream cannot be destroyed");
  }
  return check(soft_stream_destroy(stream));
}

tangError_t tangStreamSynchronize(tangStream_t stream) {
  soft_stream* target = nullptr;
  if (tangError_t error = resolveStream(stream, &target)) return error;
  return check(soft_stream_synchronize(target));
}

tangError_t tangStreamQuery(tangStream_t stream) {
  soft_stream* target = nullptr;
  if (tangError_t error = resolveStream(stream, &target)) return error;
  return check(soft_stream_query(target));
}

tangError_t tangStreamWaitEvent(tangStream_t stream, tangEvent_t event,
                                unsigned int flag) {
  if (flag != 0) {
    return fail(tangErrorInvalidValue,
                "tangStreamWaitEvent: flag must be 0, not %u", flag);
  }
  soft_stream* target = nullptr;
  if (tangError_t error = resolveStream(stream, &target)) return error;
  return check(soft_stream_wait_event(target, event));
}

tangError_t tangStreamGetPriority(tangStream_t stream, int* priority) {
  if (tangError_t error = requireOutput("tangStreamGetPriority", priority))
    return error;
  soft_stream* target = nullptr;
  if (tangError_t error = resolveStream(stream, &target)) return error;
  *priority = soft_stream_priority(target);
  return tangSuccess;
}

tangError_t tangStreamGetFlags(tangStream_t stream, unsigned int* flags) {
  if (tangError_t error = requireOutput("tangStreamGetFlags", flags))
    return error;
  soft_stream* target = nullptr;
  if (tangError_t error = resolveStream(stream, &target)) return error;
  *flags = soft_stream_flags(target);
  return tangSuccess;
}

tangError_t tangStreamGetId(tangStream_t stream, int* pId) {
  if (tangError_t error = requireOutput("tangStreamGetId", pId)) return error;
  soft_stream* target = nullptr;
  if (tangError_t error = resolveStream(stream, &target)) return error;
  *pId = static_cast<int>(soft_stream_id(target));
  return tangSuccess;
}

tangError_t tangStreamAddCallback(tangStream_t stream,
                                  tangStreamCallback_t callback, void* userData,
                                  unsigned int flags) {
  if (callback == nullptr || flags != 0) {
    return fail(tangErrorInvalidValue,
                "tangStreamAddCallback: callback is NULL or flags not 0");
  }
  soft_stream* target = nullptr;
  if (tangError_t error = resolveStream(stream, &target)) return error;
  const Callback payload{callback, stream, userData};
  return check(soft_launch_named(target, "tangStreamAddCallback", runCallback,
                                 &payload, sizeof(payload)));
}

tangError_t tangLaunchHostFunc(tangStream_t stream, tangHostFn_t fn,
                               void* userData) {
  soft_stream* target = nullptr;
  if (tangError_t error = resolveStream(stream, &target)) return error;
  return check(soft_launch_host_func(target, fn, userData));
}
