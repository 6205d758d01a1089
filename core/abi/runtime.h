/* SPDX-License-Identifier: Apache-2.0
 *
 * Device, memory, stream and event tables: the part that every vendor
 * implements. Slots are required unless their comment starts with (optional);
 * that comment then says what the host does without it.
 *
 * Order of work: functions that "enqueue" return before the work is done and
 * run in order within one stream. A failure of enqueued work is reported by a
 * later call that synchronises, with the text of the first failure.
 */
#ifndef DIPU_CORE_ABI_RUNTIME_H_
#define DIPU_CORE_ABI_RUNTIME_H_

#include "core/abi/base.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DIPU_DEVICE_API_VERSION DIPU_VERSION(1, 0)
#define DIPU_MEMORY_API_VERSION DIPU_VERSION(1, 0)
#define DIPU_STREAM_API_VERSION DIPU_VERSION(1, 0)
#define DIPU_EVENT_API_VERSION DIPU_VERSION(1, 0)

/* ------------------------------------------------------------- devices */

/* Filled by dipu_device_api::get_properties. The caller sets struct_size; the
 * vendor fills what both sides know and zeroes nothing else. */
typedef struct dipu_device_properties {
  size_t struct_size;
  char name[128];        /* model name */
  uint64_t total_memory; /* bytes an application may allocate */
  int32_t major;         /* hardware revision as the SDK gives it */
  int32_t minor;
  int32_t multi_processor_count;
  int32_t max_threads_per_block;
  int32_t warp_size;
  int32_t reserved0;
  /* Bit i set: the element type with DIPU_DTYPE_* value i is computed on the
   * device. 0 means "all". Numbering as diopiDtype_t. */
  uint64_t supported_dtypes;
  char pci_bus_id[32]; /* "" when there is none */
} dipu_device_properties;

typedef struct dipu_device_api {
  size_t struct_size;
  uint32_t version; /* DIPU_DEVICE_API_VERSION */
  uint32_t reserved0;
  /* Counts usable devices; 0 is a success. Does not create a context. */
  dipu_error* (*get_count)(int32_t* out_count);
  /* Makes `device` current for SDK and operator calls of this thread. */
  dipu_error* (*set_current)(int32_t device);
  dipu_error* (*get_current)(int32_t* out_device);
  /* Blocks until all streams of `device` are idle. */
  dipu_error* (*synchronize)(int32_t device);
  dipu_error* (*get_properties)(int32_t device,
                                dipu_device_properties* inout_properties);
  /* (optional) Frees everything the process holds on `device`. Without it the
   * host only returns its cached memory. Handles become invalid. */
  dipu_error* (*reset)(int32_t device);
  /* (optional) Says whether `device` may read memory of `peer` directly.
   * Without it the host assumes it may not and copies through the host. */
  dipu_error* (*can_access_peer)(int32_t device, int32_t peer,
                                 int32_t* out_accessible);
  /* (optional) Lets `device` access memory of `peer`. Enabling twice is a
   * success. Without it the host assumes that nothing is to be enabled. */
  dipu_error* (*enable_peer_access)(int32_t device, int32_t peer);
  /* (optional) Withdraws it again. Without it access stays enabled. */
  dipu_error* (*disable_peer_access)(int32_t device, int32_t peer);
} dipu_device_api;

/* -------------------------------------------------------------- memory */

typedef int32_t dipu_memory_kind;
enum {
  DIPU_MEMORY_UNKNOWN = 0, /* pageable host memory, or no memory at all */
  DIPU_MEMORY_DEVICE = 1,
  DIPU_MEMORY_PINNED = 2
};

/* Filled by dipu_memory_api::get_pointer_info; the caller sets struct_size. */
typedef struct dipu_pointer_info {
  size_t struct_size;
  dipu_memory_kind kind;
  int32_t device; /* DIPU_HOST unless kind is DIPU_MEMORY_DEVICE */
  /* Start and length of the allocation that holds the pointer; NULL and 0 when
   * the SDK does not tell. */
  void* allocation;
  size_t bytes;
} dipu_pointer_info;

typedef struct dipu_memory_api {
  size_t struct_size;
  uint32_t version; /* DIPU_MEMORY_API_VERSION */
  uint32_t reserved0;
  /* Allocates `bytes` > 0 on `device`, aligned to at least 256. Blocks.
   * DIPU_RESOURCE_EXHAUSTED when the memory is not there. */
  dipu_error* (*allocate)(int32_t device, size_t bytes, void** out_ptr);
  /* Frees what allocate returned. The host has made sure that no enqueued
   * work uses it. Blocks. */
  void (*deallocate)(int32_t device, void* ptr);
  /* Both in bytes. `out_free` is what allocate could still serve. */
  dipu_error* (*get_info)(int32_t device, size_t* out_free, size_t* out_total);
  /* Allocates host memory that copies can use asynchronously. Blocks. */
  dipu_error* (*host_allocate)(size_t bytes, void** out_ptr);
  void (*host_deallocate)(void* ptr);
  /* Copies `bytes` and blocks until done. Each side is described by its device
   * or DIPU_HOST. Ordered after nothing but the default stream's work. */
  dipu_error* (*copy)(void* dst, int32_t dst_device, const void* src,
                      int32_t src_device, size_t bytes);
  /* Enqueues a copy. Pageable host memory is allowed: the vendor then may
   * block, and the source may be changed once the call has returned; pinned
   * memory must stay valid and unchanged until the copy is done. Between two
   * devices `stream` belongs to either of them. */
  dipu_error* (*copy_async)(void* dst, int32_t dst_device, const void* src,
                            int32_t src_device, size_t bytes,
                            dipu_stream* stream);
  /* Enqueues a fill of device memory with the low byte of `value`. */
  dipu_error* (*set_async)(void* ptr, int32_t device, int32_t value,
                           size_t bytes, dipu_stream* stream);
  /* (optional) Describes a pointer. An address that the vendor does not know
   * is DIPU_MEMORY_UNKNOWN, not an error. Without it the host consults its
   * own allocators only. */
  dipu_error* (*get_pointer_info)(const void* ptr,
                                  dipu_pointer_info* inout_info);
  /* (optional) Pins existing host memory. Without it pin_memory copies. */
  dipu_error* (*host_register)(void* ptr, size_t bytes);
  void (*host_unregister)(void* ptr); /* (optional) together with the above */
  /* (optional) Enqueues a copy of `rows` rows of `row_bytes` with a pitch
   * (distance of row starts, bytes) per side. Without it the host enqueues one
   * copy per row. */
  dipu_error* (*copy_2d_async)(void* dst, size_t dst_pitch, int32_t dst_device,
                               const void* src, size_t src_pitch,
                               int32_t src_device, size_t row_bytes,
                               size_t rows, dipu_stream* stream);
} dipu_memory_api;

/* ------------------------------------------------------------- streams */

typedef void (*dipu_host_func)(void* argument);

typedef struct dipu_stream_api {
  size_t struct_size;
  uint32_t version; /* DIPU_STREAM_API_VERSION */
  uint32_t reserved0;
  /* Creates a stream that does not wait for the default stream. `priority`:
   * lower is more urgent, 0 is normal; out-of-range values are clamped. */
  dipu_error* (*create)(int32_t device, int32_t priority,
                        dipu_stream** out_stream);
  /* Lets enqueued work finish, does not wait for it. */
  void (*destroy)(int32_t device, dipu_stream* stream);
  /* The device's default stream. Not owned; never destroyed by the host. */
  dipu_error* (*get_default)(int32_t device, dipu_stream** out_stream);
  /* *out_done = 1 when everything enqueued so far has finished, running work
   * included, else 0. Does not block. */
  dipu_error* (*query)(dipu_stream* stream, int32_t* out_done);
  dipu_error* (*synchronize)(dipu_stream* stream); /* blocks */
  /* Enqueues: later work of `stream` waits for the last record of `event`.
   * An event that was never recorded does not hold the stream. The stream
   * may belong to another device than the event. */
  dipu_error* (*wait_event)(dipu_stream* stream, dipu_event* event);
  /* (optional) Urgent and lax end of the priority range. Without it: 0, 0. */
  dipu_error* (*get_priority_range)(int32_t device, int32_t* out_least,
                                    int32_t* out_greatest);
  /* (optional) Enqueues a call of `func(argument)` on a thread of the
   * vendor's. `func` must not call any function of these tables. Without it
   * the host synchronises the stream and calls it itself. */
  dipu_error* (*launch_host_func)(dipu_stream* stream, dipu_host_func func,
                                  void* argument);
} dipu_stream_api;

/* -------------------------------------------------------------- events */

typedef uint32_t dipu_event_flags;
enum {
  DIPU_EVENT_TIMING = 1u << 0,        /* elapsed() will be asked */
  DIPU_EVENT_BLOCKING_SYNC = 1u << 1, /* synchronise by sleeping */
  DIPU_EVENT_INTERPROCESS = 1u << 2   /* will be exported, see ipc.h */
};

typedef struct dipu_event_api {
  size_t struct_size;
  uint32_t version; /* DIPU_EVENT_API_VERSION */
  uint32_t reserved0;
  dipu_error* (*create)(int32_t device, dipu_event_flags flags,
                        dipu_event** out_event);
  /* Legal while the event is pending: its resources live on until then. */
  void (*destroy)(dipu_event* event);
  /* Enqueues; a further record replaces the former one. */
  dipu_error* (*record)(dipu_event* event, dipu_stream* stream);
  /* *out_done = 1 when the last record has been reached or there was none. */
  dipu_error* (*query)(dipu_event* event, int32_t* out_done);
  dipu_error* (*synchronize)(dipu_event* event); /* blocks */
  /* Milliseconds between two finished records of timing events;
   * DIPU_FAILED_PRECONDITION when one is unfinished or has no timing. */
  dipu_error* (*elapsed)(dipu_event* start, dipu_event* end, double* out_ms);
} dipu_event_api;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* DIPU_CORE_ABI_RUNTIME_H_ */
