/* SPDX-License-Identifier: Apache-2.0
 *
 * What a card does not offer: to break it on purpose, to choose the order in
 * which streams advance, and to see every call. For tests of what runs on
 * softdevice; a program that works needs none of it.
 *
 * Everything here is off at first and then costs nothing: work enters a stream
 * by one branch that it takes in any case. What is on applies to work enqueued
 * from then on, by any thread, on every device and stream of the process.
 *
 * Threads. Every function may be called from any thread. Only
 * soft_schedule_set and soft_schedule_clear block.
 *
 * Errors. As in softdevice.h; wrong text is SOFT_INVALID_VALUE, and
 * soft_last_message() says what was expected.
 *
 * Configuration by environment, read once: when devices are first counted or
 * used, or pinned memory is first allocated. A wrong value makes every function
 * that needs a device fail with an explanation:
 *   SOFTDEVICE_FAULTS         as soft_fault_add
 *   SOFTDEVICE_SCHEDULE_SEED  as soft_schedule_set
 *   SOFTDEVICE_TRACE          entries to keep, as soft_trace_start
 *   SOFTDEVICE_COUNTERS       1: as soft_counters_start
 */
#ifndef DIPU_SOFTDEVICE_SOFT_DEBUG_H_
#define DIPU_SOFTDEVICE_SOFT_DEBUG_H_

#include "softdevice/softdevice.h"

#ifdef __cplusplus
extern "C" {
#endif

/* -------------------------------------------------------------- faults */

/* Adds faults. `text` is one or more clauses separated by ';', a clause is
 * key=value pairs separated by ','. A clause names one or more faults and the
 * filters that hold for all of them:
 *
 *   oom_bytes=BYTES    an allocation fails that would bring the memory in use
 *                      on its device above BYTES (suffix K, M, G)
 *   oom_call=N         the N-th allocation of device memory fails
 *   host_oom_call=N    the N-th allocation of pinned memory fails
 *   launch=N           the N-th kernel does not run; the device's error becomes
 *                      SOFT_LAUNCH_FAILURE (sticky) when its turn comes
 *   launch_call=N      the N-th launch returns SOFT_LAUNCH_FAILURE at once and
 *                      enqueues nothing
 *   lost=N             the N-th piece of work or allocation of device memory,
 *                      and every later call that names the device, fails with
 *                      SOFT_DEVICE_LOST. Work enqueued before still runs, and
 *                      calls that synchronise wait for it. Handles can be
 *                      destroyed; memory stays until the device is reset,
 *                      which is possible after soft_fault_clear only
 *   slow_us=T          each piece of work waits T microseconds first
 *   hang=N             the N-th piece of work does not begin, and so its stream
 *                      stands, until soft_fault_release or soft_fault_clear.
 *                      exit() does not wait for it
 *
 *   device=D           only on this device
 *   stream=ID          only on the stream with this soft_stream_id
 *   kernel=TEXT        only kernels whose name contains TEXT (names as in
 *                      soft_counter)
 *   times=K            the faults with an N strike K times in a row (default
 *                      1; 0: for ever)
 *
 * "Work" is kernels, copies, fills and host functions that are enqueued;
 * copies that the calling thread does itself (of pageable memory) are not. What
 * one stream does in a graph's replay without waiting for others is one piece
 * of work, and its kernels are no launches.
 * N counts from 1, from this call on, over all that passes the filters.
 * Example: "oom_bytes=64M,launch=100,device=1;slow_us=50,stream=17". */
SOFT_API soft_status soft_fault_add(const char* text);

/* Forgets all faults, lets hung streams go on and lost devices answer again.
 * Sticky errors remain until soft_device_reset. */
SOFT_API soft_status soft_fault_clear(void);

/* Lets go on what hangs now, or has been enqueued to hang; the faults stay. */
SOFT_API soft_status soft_fault_release(void);

typedef struct soft_fault_info {
  char rule[32];  /* such as "launch=100", without filters */
  uint64_t seen;  /* occasions that passed the filters */
  uint64_t fired; /* how often it struck */
} soft_fault_info;

/* Number of faults that are set, one per fault key in what was added. */
SOFT_API soft_status soft_fault_count(int32_t* out_count);
/* The fault `index`, in the order of adding. */
SOFT_API soft_status soft_fault_get_info(int32_t index,
                                         soft_fault_info* out_info);

/* ----------------------------------------------------------- schedules */

/* Waits for all work and from then on runs tasks one at a time, in an order
 * that `seed` chooses among all that streams, events and the default stream
 * allow. A program that forgets to synchronise two streams gets a wrong result
 * with some seeds; one that does not gets the right one with all.
 *
 * Tasks run only while the host waits, when a ring is full, or, one task per
 * call, when a query (of a stream, an event, or elapsed time) would answer
 * SOFT_NOT_READY. The order therefore depends on the seed and on the calls
 * alone, not on time: one enqueueing thread gets the same order every time.
 *
 * Limits: a task must not wait for something the host does after it has begun
 * to wait for the stream. A query waits for the task it has chosen, at most
 * one second. Work that nobody waits for does not run. */
SOFT_API soft_status soft_schedule_set(uint64_t seed);
/* Waits for all work and returns to streams that run by themselves. */
SOFT_API soft_status soft_schedule_clear(void);
/* Number of tasks chosen since the seed was set; 0 without a schedule. */
SOFT_API soft_status soft_schedule_steps(uint64_t* out_steps);

/* -------------------------------------------------------------- traces */

typedef int32_t soft_trace_kind;
enum {
  /* Enqueued. `position` is that of the work in its stream. */
  SOFT_TRACE_KERNEL = 1,
  SOFT_TRACE_HOST_FUNCTION = 2,
  SOFT_TRACE_COPY = 3, /* also one that the calling thread does itself */
  SOFT_TRACE_FILL = 4,
  SOFT_TRACE_FAILURE = 5, /* an illegal address, found while enqueueing */
  /* Calls. `position` of the first two is what the event stands for. */
  SOFT_TRACE_EVENT_RECORD = 6,
  SOFT_TRACE_WAIT_EVENT = 7, /* `other_stream`: where it was recorded */
  SOFT_TRACE_ALLOCATE = 8,
  SOFT_TRACE_FREE = 9,
  SOFT_TRACE_HOST_ALLOCATE = 10,
  SOFT_TRACE_HOST_FREE = 11,
  SOFT_TRACE_SYNCHRONIZE = 12, /* with a stream, event or device */
  /* Enqueued: what one stream does in a graph's replay without waiting for
   * others. Its nodes follow with entries of their own when they run. */
  SOFT_TRACE_GRAPH = 13
};

#define SOFT_TRACE_NO_STREAM UINT64_MAX

typedef struct soft_trace_entry {
  uint64_t sequence; /* from 1, in the order of the calls */
  soft_trace_kind kind;
  int32_t device;        /* -1: none */
  uint64_t stream;       /* its id, or SOFT_TRACE_NO_STREAM */
  uint64_t position;     /* 0: none, or not enqueued */
  uint64_t other_stream; /* SOFT_TRACE_NO_STREAM unless kind is WAIT_EVENT */
  uint64_t bytes;        /* copied, filled, allocated; else 0 */
  int64_t called_ns;     /* CLOCK_MONOTONIC, like the two below */
  int64_t started_ns;    /* 0: not yet */
  int64_t finished_ns;   /* 0: not yet */
  soft_status status;    /* SOFT_NOT_READY until finished */
  int32_t reserved0;
  char name[96];  /* of the kernel, as in soft_counter; else of the call */
  char label[48]; /* of the calling thread, cut off at the end; or "" */
} soft_trace_entry;

/* Empties the trace and records from now on, keeping the last `entries` (1 to
 * 1048576). */
SOFT_API soft_status soft_trace_start(size_t entries);
/* Records no more; work that runs is still completed in its entry. */
SOFT_API soft_status soft_trace_stop(void);
/* Copies the oldest entries kept, up to `capacity`. *out_count is how many are
 * kept (ask with capacity 0), *out_dropped how many have been overwritten; it
 * may be NULL. Does not empty the trace, does not wait for work. */
SOFT_API soft_status soft_trace_read(soft_trace_entry* out_entries,
                                     size_t capacity, size_t* out_count,
                                     uint64_t* out_dropped);
/* Name such as "kernel"; never NULL, static storage. */
SOFT_API const char* soft_trace_kind_name(soft_trace_kind kind);

/* A text, such as the name of an operator, that traces store with what this
 * thread calls from now on. Kept, not copied: it must stay valid until it is
 * replaced. NULL is none. */
SOFT_API void soft_set_label(const char* label);

/* ------------------------------------------------------------ counters */

typedef struct soft_counter {
  /* As given to soft_launch_named. A kernel without one has its place in its
   * file: "libvendor.so+0x1a2b", for addr2line -f. */
  char name[128];
  uint64_t launches; /* that have finished */
  uint64_t total_ns; /* on the worker's clock, from begin to end */
  uint64_t min_ns;
  uint64_t max_ns;
} soft_counter;

/* Counts the kernels launched from now on. */
SOFT_API soft_status soft_counters_start(void);
/* Stops counting; what has been counted stays. */
SOFT_API soft_status soft_counters_stop(void);
/* Sets all to nothing. */
SOFT_API soft_status soft_counters_reset(void);
/* Copies up to `capacity` counters, in the order of their names. *out_count is
 * how many there are (ask with capacity 0). */
SOFT_API soft_status soft_counters_read(soft_counter* out_counters,
                                        size_t capacity, size_t* out_count);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* DIPU_SOFTDEVICE_SOFT_DEBUG_H_ */
