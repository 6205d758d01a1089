/* SPDX-License-Identifier: Apache-2.0
 *
 * Device, memory, stream and event tables: the part that every vendor
 * implements. Slots are required unless their comment starts with (optional);
 * that comment then says what the host does without it. A host calls an
 * optional slot where that serves it and need not call it at all.
 *
 * Order of work: functions that "enqueue" return before the work is done and
 * run in order within one stream. A failure of enqueued work is reported by a
 * later call that synchronises with it (a stream, an event or its device) or
 * queries it, with the text of the first failure.
 */
#ifndef DIPU_CORE_ABI_RUNTIME_H_
#define DIPU_CORE_ABI_RUNTIME_H_

#include "core/abi/base.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DIPU_DEVICE_API_VERSION DIPU_VERSION(1, 0)
#define DIPU_MEMORY_API_VERSION DIPU_VERSION(1, 1)
#define DIPU_STREAM_API_VERSION DIPU_VERSION(1, 0)
#define DIPU_EVENT_API_VERSION DIPU_VERSION(1, 0)

/* ------------------------------------------------------------- devices */

/* More devices than this are taken for a mistake of get_count. */
#define DIPU_MAX_DEVICE_COUNT ((int32_t)1024)

/* Filled by dipu_device_api::get_properties. The caller sets struct_size and
 * zeroes the rest; the vendor fills what both sides know and leaves the rest,
 * so 0 and "" mean "not told". */
typedef struct dipu_device_properties {
  size_t struct_size;
  char name[128];        /* model name, NUL-terminated */
  uint64_t total_memory; /* bytes an application may allocate */
  int32_t major;         /* hardware revision as the SDK gives it */
  int32_t minor;
  int32_t multi_processor_count;
  int32_t max_threads_per_block;
  int32_t warp_size; /* threads that run in lock step */
  int32_t reserved0;
  /* Bit i set: the element type with DIPU_DTYPE_* value i is computed on the
   * device. 0 means "all". */
  uint64_t supported_dtypes;
  char pci_bus_id[32]; /* NUL-terminated; "" when there is none */
} dipu_device_properties;

typedef struct dipu_device_api {
  size_t struct_size;
  uint32_t version; /* DIPU_DEVICE_API_VERSION */
  uint32_t reserved0;
  /* Counts usable devices, 0 to DIPU_MAX_DEVICE_COUNT; 0 is a success. The
   * number stays the same while the process lives. Creates no context. */
  dipu_error* (*get_count)(int32_t* out_count);
  /* Makes `device` current for SDK and operator calls of this thread. */
  dipu_error* (*set_current)(int32_t device);
  /* Gives the device that is current for this thread, DIPU_HOST when the SDK
   * has none; the host then makes device 0 current. */
  dipu_error* (*get_current)(int32_t* out_device);
  /* Blocks until all streams of `device` are idle. */
  dipu_error* (*synchronize)(int32_t device);
  /* May block. The host asks once per device. */
  dipu_error* (*get_properties)(int32_t device,
                                dipu_device_properties* inout_properties);
  /* (optional) Frees everything the process holds on `device` and makes its
   * handles and memory invalid. Blocks. The host never resets a device by
   * itself; without the slot nobody else can. */
  dipu_error* (*reset)(int32_t device);
  /* (optional) Says whether `device` can read and write memory of `peer`
   * directly. Without it the host assumes that it cannot, and copies between
   * the two through host memory. */
  dipu_error* (*can_access_peer)(int32_t device, int32_t peer,
                                 int32_t* out_accessible);
  /* (optional) Lets `device` access memory of `peer`, where can_access_peer
   * says that it can. Enabling twice is a success. Without it the host assumes
   * that nothing has to be enabled. */
  dipu_error* (*enable_peer_access)(int32_t device, int32_t peer);
  /* (optional) Withdraws it again. The host never does; access stays enabled
   * until the process ends. */
  dipu_error* (*disable_peer_access)(int32_t device, int32_t peer);
} dipu_device_api;

/* -------------------------------------------------------------- memory */

/* An unknown kind counts as DIPU_MEMORY_UNKNOWN. */
typedef int32_t dipu_memory_kind;
enum {
  DIPU_MEMORY_UNKNOWN = 0, /* pageable host memory, or no memory at all */
  DIPU_MEMORY_DEVICE = 1,
  DIPU_MEMORY_PINNED = 2
};

/* Filled by dipu_memory_api::get_pointer_info, as dipu_device_properties is. */
typedef struct dipu_pointer_info {
  size_t struct_size;
  dipu_memory_kind kind;
  int32_t device; /* DIPU_HOST unless kind is DIPU_MEMORY_DEVICE */
  /* Start and length of the allocation that holds the pointer; NULL and 0 when
   * the SDK does not tell. */
  void* allocation;
  size_t bytes;
  /* since 1.1 */
  /* The address at which the host itself reads and writes that byte of device
   * memory, and at the same distance the rest of its allocation, for as long as
   * that lives. What the device wrote is there once its work is done, and work
   * that is enqueued later sees what the host wrote. NULL: the host cannot, and
   * copies. */
  void* host_pointer;
} dipu_pointer_info;

/* Sizes are never 0, and the two sides of a copy do not overlap. */
typedef struct dipu_memory_api {
  size_t struct_size;
  uint32_t version; /* DIPU_MEMORY_API_VERSION */
  uint32_t reserved0;
  /* Allocates `bytes` on `device`, aligned to at least 256. May block.
   * DIPU_RESOURCE_EXHAUSTED when the memory is not there. */
  dipu_error* (*allocate)(int32_t device, size_t bytes, void** out_ptr);
  /* Frees what allocate returned. The host has made sure that no enqueued
   * work uses it. May block. */
  void (*deallocate)(int32_t device, void* ptr);
  /* Both in bytes. `out_free` is what allocate could still serve. */
  dipu_error* (*get_info)(int32_t device, size_t* out_free, size_t* out_total);
  /* Allocates pinned host memory, aligned to at least 64, which copies of any
   * device can use without blocking. May block. */
  dipu_error* (*host_allocate)(size_t bytes, void** out_ptr);
  /* Frees what host_allocate returned, as deallocate does. */
  void (*host_deallocate)(void* ptr);
  /* Copies `bytes` and blocks until done. Each side is described by its device
   * or DIPU_HOST, which both may be. Ordered after nothing but the work of the
   * device's default stream. For programs that have no stream at hand, such as
   * tests and tools; the host enqueues on the stream it works with. */
  dipu_error* (*copy)(void* dst, int32_t dst_device, const void* src,
                      int32_t src_device, size_t bytes);
  /* Enqueues a copy, described like that of `copy`; at least one side is a
   * device. Pinned memory must stay valid, and a source unchanged, until the
   * copy is done. Pageable host memory is allowed: the call may then block; a
   * source may be changed once it has returned, a destination holds the data
   * when the stream has been synchronised. Between two devices `stream`
   * belongs to either of them, and the host has enabled peer access. */
  dipu_error* (*copy_async)(void* dst, int32_t dst_device, const void* src,
                            int32_t src_device, size_t bytes,
                            dipu_stream* stream);
  /* Enqueues a fill of device memory with the low byte of `value`. */
  dipu_error* (*set_async)(void* ptr, int32_t device, int32_t value,
                           size_t bytes, dipu_stream* stream);
  /* (optional) Describes a pointer, which may be any address. One that the
   * vendor does not know is DIPU_MEMORY_UNKNOWN, not an error. Without it the
   * host consults its own allocators only. */
  dipu_error* (*get_pointer_info)(const void* ptr,
                                  dipu_pointer_info* inout_info);
  /* (optional) Pins existing host memory. May block. The host does without:
   * pin_memory copies into memory of host_allocate. */
  dipu_error* (*host_register)(void* ptr, size_t bytes);
  /* (optional) Undoes it. Present together with host_register. */
  void (*host_unregister)(void* ptr);
  /* (optional) Enqueues a copy of `rows` rows of `row_bytes` with a pitch
   * (distance of row starts, bytes) per side, otherwise as copy_async. The
   * host does without: it makes strided tensors contiguous on the device. */
  dipu_error* (*copy_2d_async)(void* dst, size_t dst_pitch, int32_t dst_device,
                               const void* src, size_t src_pitch,
                               int32_t src_device, size_t row_bytes,
                               size_t rows, dipu_stream* stream);
} dipu_memory_api;

/* ------------------------------------------------------------- streams */

typedef void (*dipu_host_func)(void* argument);

/* Arguments of dipu_stream_api::create; the caller sets struct_size. */
typedef struct dipu_stream_create_args {
  size_t struct_size;
  int32_t device;
  /* Lower is more urgent, 0 is normal. Out-of-range values are clamped. */
  int32_t priority;
} dipu_stream_create_args;

typedef struct dipu_stream_api {
  size_t struct_size;
  uint32_t version; /* DIPU_STREAM_API_VERSION */
  uint32_t reserved0;
  /* Creates a stream that does not wait for the default stream. The caller
   * owns it. */
  dipu_error* (*create)(const dipu_stream_create_args* args,
                        dipu_stream** out_stream);
  /* Lets enqueued work finish and need not wait for it. */
  void (*destroy)(int32_t device, dipu_stream* stream);
  /* The device's default stream, the same on every call and thread. Not owned;
   * never destroyed by the host. */
  dipu_error* (*get_default)(int32_t device, dipu_stream** out_stream);
  /* *out_done = 1 when everything enqueued so far has finished, running work
   * included, else 0. Does not block. */
  dipu_error* (*query)(dipu_stream* stream, int32_t* out_done);
  /* Blocks until everything enqueued so far has finished. */
  dipu_error* (*synchronize)(dipu_stream* stream);
  /* Enqueues: later work of `stream` waits for the last record of `event` so
   * far. An event that was never recorded does not hold the stream. The stream
   * may belong to another device than the event. */
  dipu_error* (*wait_event)(dipu_stream* stream, dipu_event* event);
  /* (optional) The lax end of the priority range, its highest number, and the
   * urgent one. Without it both are 0. */
  dipu_error* (*get_priority_range)(int32_t device, int32_t* out_least,
                                    int32_t* out_greatest);
  /* (optional) Enqueues one call of `func(argument)` on a thread of the
   * vendor's; `func` calls no function of these tables. After a failure of the
   * stream it may be left out. The host does without: it waits for events. */
  dipu_error* (*launch_host_func)(dipu_stream* stream, dipu_host_func func,
                                  void* argument);
} dipu_stream_api;

/* -------------------------------------------------------------- events */

/* A flag that the vendor cannot honour, or does not know, is
 * DIPU_UNIMPLEMENTED. */
typedef uint32_t dipu_event_flags;
enum {
  DIPU_EVENT_TIMING = 1u << 0,        /* elapsed() will be asked */
  DIPU_EVENT_BLOCKING_SYNC = 1u << 1, /* synchronise by sleeping; a hint */
  DIPU_EVENT_INTERPROCESS = 1u << 2   /* will be exported, see ipc.h */
};

typedef struct dipu_event_api {
  size_t struct_size;
  uint32_t version; /* DIPU_EVENT_API_VERSION */
  uint32_t reserved0;
  /* Creates an event for streams of `device`. The caller owns it. */
  dipu_error* (*create)(int32_t device, dipu_event_flags flags,
                        dipu_event** out_event);
  /* Legal while the event is pending: its resources live on until then. */
  void (*destroy)(dipu_event* event);
  /* Enqueues; a further record replaces the former one. `stream` belongs to
   * the event's device. */
  dipu_error* (*record)(dipu_event* event, dipu_stream* stream);
  /* *out_done = 1 when the last record has been reached or there was none.
   * Does not block. */
  dipu_error* (*query)(dipu_event* event, int32_t* out_done);
  /* Blocks until then. */
  dipu_error* (*synchronize)(dipu_event* event);
  /* Milliseconds between two finished records of timing events;
   * DIPU_FAILED_PRECONDITION when one is unfinished or has no timing. */
  dipu_error* (*elapsed)(dipu_event* start, dipu_event* end, double* out_ms);
} dipu_event_api;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* DIPU_CORE_ABI_RUNTIME_H_ */
