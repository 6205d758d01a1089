/* SPDX-License-Identifier: Apache-2.0
 *
 * softdevice: an asynchronous accelerator made of CPU threads.
 *
 * It gives simulated vendor SDKs what a card gives a driver: devices with
 * memory of their own, in-order streams, events and copies. One shared library
 * per process holds all of it, so several SDKs see the same devices.
 *
 * Addresses. Device memory is handed out as addresses in a reserved range that
 * has no access rights: reading one on the host faults, as with a card. The
 * memory itself lies at a constant distance per device, and code that runs on
 * a stream adds that distance (soft_translate).
 *
 * Threads. Every function may be called from any thread. Functions block only
 * where their comment says so.
 *
 * Errors. A function returns a soft_status and, on failure, has not touched
 * its outputs; soft_last_message() explains the last failure of the calling
 * thread. Work that fails on a stream makes the device's error sticky: every
 * later call that synchronises with the device returns it.
 *
 * Configuration by environment, read once when the first device is used:
 *   SOFTDEVICE_COUNT        number of devices (default 2, 0..16)
 *   SOFTDEVICE_MEMORY       bytes per device, with suffix K, M, G (default:
 *                           half of the memory available to this machine or
 *                           cgroup, divided by the devices and by
 *                           LOCAL_WORLD_SIZE)
 *   SOFTDEVICE_SPIN_US      how long a waiting thread polls (default 200)
 *   and those of soft_debug.h: faults, schedules, traces
 *   OMP_NUM_THREADS         size of a kernel's thread team (default: all cores)
 *
 * Processes. After exit() has begun, and in a child that was forked after a
 * device had been used, every function returns SOFT_NOT_PERMITTED.
 */
#ifndef DIPU_SOFTDEVICE_SOFTDEVICE_H_
#define DIPU_SOFTDEVICE_SOFTDEVICE_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SOFT_API __attribute__((visibility("default")))

typedef int32_t soft_status;
enum {
  SOFT_OK = 0,
  SOFT_INVALID_VALUE = 1,
  SOFT_OUT_OF_MEMORY = 2,
  SOFT_NO_DEVICE = 3,
  SOFT_INVALID_DEVICE = 4,
  SOFT_INVALID_HANDLE = 5,
  SOFT_NOT_READY = 6,       /* query: work is pending; no failure */
  SOFT_ILLEGAL_ADDRESS = 7, /* sticky */
  SOFT_LAUNCH_FAILURE = 8,  /* sticky */
  SOFT_NOT_SUPPORTED = 9,
  SOFT_NOT_PERMITTED = 10, /* e.g. peer access that was not enabled */
  /* Stream capture, see soft_graph.h. */
  SOFT_CAPTURE_UNSUPPORTED = 11, /* the call is not permitted meanwhile */
  SOFT_CAPTURE_INVALIDATED = 12, /* an earlier call has spoilt the capture */
  SOFT_CAPTURE_UNMATCHED = 13,   /* end without begin, or by another thread */
  SOFT_CAPTURE_UNJOINED = 14,    /* work of a fork is not joined */
  SOFT_CAPTURE_IMPLICIT = 15,    /* it would depend on the default stream */
  SOFT_DEVICE_LOST = 16 /* sticky; every call fails, see soft_debug.h */
};

/* Name such as "SOFT_OUT_OF_MEMORY"; never NULL, static storage. */
SOFT_API const char* soft_status_name(soft_status status);
/* Text of this thread's last failure; "" if there was none. Valid until the
 * thread's next call. */
SOFT_API const char* soft_last_message(void);

/* ------------------------------------------------------------- devices */

typedef struct soft_device_info {
  char name[64];
  size_t total_memory;    /* capacity in bytes */
  int32_t worker_threads; /* size of a kernel's thread team */
  int32_t reserved0;
} soft_device_info;

SOFT_API soft_status soft_device_count(int32_t* out_count);
SOFT_API soft_status soft_device_get_info(int32_t device,
                                          soft_device_info* out_info);
/* Blocks until all streams of `device` are idle; returns its sticky error. */
SOFT_API soft_status soft_device_synchronize(int32_t device);
/* Waits for all work of all devices, as peers may use the memory, frees all
 * memory of `device`, and clears its sticky error. Handles of the device other
 * than its default stream become invalid. Blocks. */
SOFT_API soft_status soft_device_reset(int32_t device);
/* Sticky error of `device` without waiting. */
SOFT_API soft_status soft_device_get_error(int32_t device);

SOFT_API soft_status soft_device_can_access_peer(int32_t device, int32_t peer,
                                                 int32_t* out_accessible);
/* Lets work of `device` use memory of `peer`; copies need no permission.
 * Enabling twice is a success. */
SOFT_API soft_status soft_device_enable_peer_access(int32_t device,
                                                    int32_t peer);
SOFT_API soft_status soft_device_disable_peer_access(int32_t device,
                                                     int32_t peer);
SOFT_API soft_status soft_device_get_peer_access(int32_t device, int32_t peer,
                                                 int32_t* out_enabled);

/* -------------------------------------------------------------- memory */

typedef int32_t soft_memory_kind;
enum {
  SOFT_MEMORY_UNKNOWN = 0,
  SOFT_MEMORY_DEVICE = 1,
  SOFT_MEMORY_PINNED = 2
};

typedef struct soft_pointer_info {
  soft_memory_kind kind;
  int32_t device;   /* -1 unless kind is SOFT_MEMORY_DEVICE */
  void* allocation; /* start of the allocation that holds the pointer */
  size_t bytes;     /* its length */
  /* Where the host finds that byte, and at the same distance the rest of the
   * allocation. NULL unless kind is SOFT_MEMORY_DEVICE, and for a mapping of
   * virtual memory that no device may use as a whole. */
  void* host_pointer;
} soft_pointer_info;

/* Allocates `bytes` of device memory aligned to 512. Zero bytes give NULL. */
SOFT_API soft_status soft_malloc(int32_t device, size_t bytes, void** out_ptr);
/* Frees device memory after waiting for all devices. NULL is accepted; an
 * address that soft_malloc did not return is SOFT_INVALID_VALUE. Blocks. */
SOFT_API soft_status soft_free(void* ptr);
/* Free is min(capacity left, memory the machine has available). */
SOFT_API soft_status soft_memory_info(int32_t device, size_t* out_free,
                                      size_t* out_total);
/* Pinned host memory, aligned to 4096. */
SOFT_API soft_status soft_host_malloc(size_t bytes, void** out_ptr);
SOFT_API soft_status soft_host_free(void* ptr);
/* Makes existing host memory pinned. */
SOFT_API soft_status soft_host_register(void* ptr, size_t bytes);
SOFT_API soft_status soft_host_unregister(void* ptr);
/* Any address may be asked about. */
SOFT_API soft_status soft_pointer_get_info(const void* ptr,
                                           soft_pointer_info* out_info);

/* Where the memory of one device lies. The structure never changes once its
 * device exists. */
typedef struct soft_address_map {
  uintptr_t base;  /* first address handed out */
  uintptr_t bytes; /* length of the range */
  intptr_t offset; /* backing address = address + offset */
  int32_t device;
} soft_address_map;

/* ------------------------------------------------------------- streams */

typedef struct soft_stream soft_stream;
typedef struct soft_event soft_event;

/* Lower is more urgent. Of the streams of a device that wait for its team of
 * threads (soft_team_begin) the most urgent gets it, and among equals the one
 * that has waited longest. Between workers the system shares out the processors
 * by their nice value: 4 more or less per step, where less than the program's
 * own needs CAP_SYS_NICE or RLIMIT_NICE. A task that runs is not interrupted.
 */
#define SOFT_PRIORITY_GREATEST (-2)
#define SOFT_PRIORITY_LEAST 1

/* `flags` of soft_stream_create. */
enum {
  SOFT_STREAM_DEFAULT = 0,
  /* Does not order itself with the device's default stream. */
  SOFT_STREAM_NON_BLOCKING = 1
};

/* A priority out of range is clamped. The handle is never reused: a call with
 * that of a destroyed stream is SOFT_INVALID_HANDLE. */
SOFT_API soft_status soft_stream_create(int32_t device, int32_t priority,
                                        uint32_t flags,
                                        soft_stream** out_stream);
/* Lets the work finish without waiting for it; the handle is dead at once. */
SOFT_API soft_status soft_stream_destroy(soft_stream* stream);
/* The device's default stream; exists as long as the process. */
SOFT_API soft_status soft_stream_get_default(int32_t device,
                                             soft_stream** out_stream);
/* SOFT_OK when idle, SOFT_NOT_READY while anything runs or waits. When idle it
 * returns the device's sticky error, like all that synchronise, and that of a
 * lost device at once. */
SOFT_API soft_status soft_stream_query(soft_stream* stream);
SOFT_API soft_status soft_stream_synchronize(soft_stream* stream); /* blocks */
/* Enqueues: later work of `stream`, of any device, waits for the event's last
 * record. The record may be replaced and the event destroyed meanwhile. */
SOFT_API soft_status soft_stream_wait_event(soft_stream* stream,
                                            soft_event* event);
SOFT_API int32_t soft_stream_device(const soft_stream* stream);
SOFT_API int32_t soft_stream_priority(const soft_stream* stream);
SOFT_API uint32_t soft_stream_flags(const soft_stream* stream);
/* Never reused within a process; the default stream of device d is d. */
SOFT_API uint64_t soft_stream_id(const soft_stream* stream);

/* A piece of work. `payload` is the stream's private copy of what was given to
 * soft_launch, aligned to 16. Runs on the stream's worker thread. */
typedef void (*soft_task)(void* payload);

/* Enqueues task(payload) after copying `bytes` of payload. Up to
 * SOFT_INLINE_PAYLOAD bytes lie in the stream's ring; larger ones are copied
 * to the heap. Blocks only while the ring is full; a task that finds it full
 * gets SOFT_NOT_PERMITTED. */
#define SOFT_INLINE_PAYLOAD 224
SOFT_API soft_status soft_launch(soft_stream* stream, soft_task task,
                                 const void* payload, size_t bytes);
/* As soft_launch, for a kernel whose name failures and traces tell. `name` is
 * kept, not copied; NULL is none. */
SOFT_API soft_status soft_launch_named(soft_stream* stream, const char* name,
                                       soft_task task, const void* payload,
                                       size_t bytes);
/* Enqueues func(argument) on the worker; it must not call this library. */
SOFT_API soft_status soft_launch_host_func(soft_stream* stream,
                                           void (*func)(void*), void* argument);

/* Copies between any two of host and devices, the sides being recognised by
 * address. Pageable host sources are copied out, and pageable destinations
 * written, before the call returns; pinned ones are used asynchronously. */
SOFT_API soft_status soft_memcpy_async(void* dst, const void* src, size_t bytes,
                                       soft_stream* stream);
/* As above and waits; ordered after the default streams of both sides. */
SOFT_API soft_status soft_memcpy(void* dst, const void* src, size_t bytes);
SOFT_API soft_status soft_memset_async(void* dst, int32_t value, size_t bytes,
                                       soft_stream* stream);

/* The address map of the stream's device. Never NULL. */
SOFT_API const soft_address_map* soft_stream_address_map(soft_stream* stream);
/* Backing address of `ptr` (`bytes` long) as seen by work of `stream`. NULL
 * when the range is host memory, unallocated, or belongs to a device whose peer
 * access is not enabled; then it has also enqueued a SOFT_ILLEGAL_ADDRESS
 * failure that names the address, so the caller only returns. Pinned host
 * memory translates to itself. Zero bytes translate to a valid address. */
SOFT_API void* soft_translate(soft_stream* stream, const void* ptr,
                              size_t bytes);
#ifdef SOFT_DIRECT_ADDRESSES
/* For one benchmark, which measures what isolation costs: all code is built
 * with this macro, addresses are those of the memory, and nothing is checked.
 */
static inline void* soft_translate_direct(soft_stream* stream, const void* ptr,
                                          size_t bytes) {
  (void)stream;
  (void)bytes;
  return (void*)(uintptr_t)ptr;
}
#define soft_translate soft_translate_direct
#endif
/* Called by a running task: makes the device's error sticky. The name of the
 * task, if it has one, is put before the message. */
SOFT_API void soft_task_fail(soft_status status, const char* message);
/* The stream whose worker is the calling thread, else NULL. */
SOFT_API soft_stream* soft_current_stream(void);
/* Number of threads a task may use, including its own (OMP_NUM_THREADS is
 * honoured). Tasks of one device take turns with teams: bracket a parallel
 * region with begin and end. begin may block for another stream's team. */
SOFT_API int32_t soft_team_begin(void);
SOFT_API void soft_team_end(void);

/* -------------------------------------------------------------- events */

enum {
  SOFT_EVENT_DEFAULT = 0,
  SOFT_EVENT_BLOCKING_SYNC = 1,
  SOFT_EVENT_DISABLE_TIMING = 2,
  SOFT_EVENT_INTERPROCESS = 4 /* needs the one before; see soft_ipc.h */
};

SOFT_API soft_status soft_event_create(int32_t device, uint32_t flags,
                                       soft_event** out_event);
/* Legal while the event is pending. NULL is accepted. */
SOFT_API soft_status soft_event_destroy(soft_event* event);
/* Enqueues on a stream of the event's device; replaces an earlier record. */
SOFT_API soft_status soft_event_record(soft_event* event, soft_stream* stream);
/* SOFT_OK when reached or never recorded, else SOFT_NOT_READY. */
SOFT_API soft_status soft_event_query(soft_event* event);
SOFT_API soft_status soft_event_synchronize(soft_event* event); /* blocks */
/* Milliseconds from `start` to `end`; SOFT_NOT_READY while one is pending,
 * SOFT_INVALID_HANDLE without a record or timing. */
SOFT_API soft_status soft_event_elapsed(soft_event* start, soft_event* end,
                                        double* out_ms);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* DIPU_SOFTDEVICE_SOFTDEVICE_H_ */
