// SPDX-License-Identifier: Apache-2.0
#include "vendors/droplet/tang/status.h"
#include "vendors/droplet/tang/tang_runtime.h"

using dipu::tang::check;
using dipu::tang::currentDevice;
using dipu::tang::fail;
using dipu::tang::resolveStream;

static_assert(int{tangEventBlockingSync} == int{SOFT_EVENT_BLOCKING_SYNC} &&
                  int{tangEventDisableTiming} == int{SOFT_EVENT_DISABLE_TIMING},
              "flags are passed on unchanged");

tangError_t tangEventCreate(tangEvent_t* event) {
  return tangEventCreateWithFlags(event, tangEventDefault);
}

tangError_t tangEventCreateWithFlags(tangEvent_t* event, unsigned flag) {
  if ((flag & tangEventInterprocess) != 0) {
    return fail(tangErrorNotSupported,
                "tangEventCreateWithFlags: events are not shared between "
                "processes");
  }
  return check(soft_event_create(currentDevice(), flag, event));
}

tangError_t tangEventRecord(tangEvent_t event, tangStream_t stream) {
  soft_stream* target = nullptr;
  if (tangError_t error = resolveStream(stream, &target)) return error;
  return check(soft_event_record(event, target));
}

tangError_t tangEventRecordWithFlags(tangEvent_t event, tangStream_t stream,
                                     unsigned int flags) {
  if (flags != 0) {
    return fail(tangErrorInvalidValue,
                "tangEventRecordWithFlags: flags must be 0, not %u", flags);
  }
  return tangEventRecord(event, stream);
}

tangError_t tangEventSynchronize(tangEvent_t event) {
  return check(soft_event_synchronize(event));
}

tangError_t tangEventQuery(tangEvent_t event) {
  return check(soft_event_query(event));
}

tangError_t tangEventElapsedTime(float* ms, tangEvent_t start,
                                 tangEvent_t stop) {
  double elapsed = 0.0;
  if (ms == nullptr) {
    return fail(tangErrorInvalidValue, "tangEventElapsedTime: ms is NULL");
  }
  if (tangError_t error = check(soft_event_elapsed(start, stop, &elapsed))) {
    return error;
  }
  *ms = static_cast<float>(elapsed);
  return tangSuccess;
}

tangError_t tangEventDestroy(tangEvent_t event) {
  if (event == nullptr) {
    return fail(tangErrorInvalidResourceHandle,
                "tangEventDestroy: the event is NULL");
  }
  return check(soft_event_destroy(event));
}
