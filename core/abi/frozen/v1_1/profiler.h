/* SPDX-License-Identifier: Apache-2.0
 *
 * Profiler: what the device did and when. Provisional: the host does not use it
 * yet.
 */
#ifndef DIPU_CORE_ABI_PROFILER_H_
#define DIPU_CORE_ABI_PROFILER_H_

#include "core/abi/frozen/v1_1/base.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DIPU_PROFILER_API_VERSION DIPU_VERSION(0, 1)

typedef int32_t dipu_activity_kind;
enum {
  DIPU_ACTIVITY_KERNEL = 0,
  DIPU_ACTIVITY_COPY = 1,
  DIPU_ACTIVITY_SET = 2,
  DIPU_ACTIVITY_RUNTIME_CALL = 3
};

/* One finished piece of work. Borrowed for the duration of the callback. */
typedef struct dipu_activity {
  size_t struct_size;
  dipu_activity_kind kind;
  int32_t device;
  uint64_t stream_id;
  uint64_t correlation_id; /* as set on the thread that enqueued it */
  int64_t start_ns;        /* CLOCK_REALTIME, nanoseconds */
  int64_t end_ns;
  uint64_t bytes;   /* of copies and sets, else 0 */
  const char* name; /* never NULL */
} dipu_activity;

typedef void (*dipu_activity_callback)(const dipu_activity* activity,
                                       void* user_data);

typedef struct dipu_profiler_api {
  size_t struct_size;
  uint32_t version; /* DIPU_PROFILER_API_VERSION */
  uint32_t reserved0;
  /* `callback` may be called from any thread until stop has returned. */
  dipu_error* (*start)(dipu_activity_callback callback, void* user_data);
  /* Blocks until every activity has been delivered. */
  dipu_error* (*stop)(void);
  /* Tags work that this thread enqueues from here on. */
  void (*set_correlation_id)(uint64_t id);
  /* (optional) Named ranges for the vendor's own tools. Without them ranges
   * are recorded by the host only. */
  void (*push_range)(const char* name);
  void (*pop_range)(void); /* (optional) */
} dipu_profiler_api;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* DIPU_CORE_ABI_PROFILER_H_ */
