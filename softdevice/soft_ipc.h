/* SPDX-License-Identifier: Apache-2.0
 *
 * softdevice: memory and events shared between processes.
 *
 * A handle is 64 bytes that one process makes and any other process of the same
 * user may open: a child that was spawned or an unrelated one, as long as both
 * run in one PID namespace (one container). How the bytes travel is the
 * program's affair. A handle is not a resource: it needs no release.
 *
 * Lifetime. A handle opens while the process that made it lives and has not
 * freed what it exported. What has been opened stays valid until it is closed,
 * also when its exporter frees it or ends before.
 *
 * Threads. Every function may be called from any thread, but not from a task.
 */
#ifndef DIPU_SOFTDEVICE_SOFT_IPC_H_
#define DIPU_SOFTDEVICE_SOFT_IPC_H_

#include "softdevice/softdevice.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct soft_ipc_handle {
  unsigned char bytes[64]; /* opaque; checked when opened */
} soft_ipc_handle;

/* -------------------------------------------------------------- memory */

/* Makes a handle for the allocation that starts at `ptr`. Exporting again gives
 * an equal handle.
 *
 * The first export moves the allocation's pages to shared memory, at the same
 * addresses: all work of all devices pauses for that time (about 1.5 ms per
 * MiB that is not zero) and none of it is lost, whichever thread enqueues it.
 * Blocks until what is enqueued has finished. An allocation of a page or more
 * shares its pages with no other; smaller ones that lie in the same page become
 * readable to the other process too.
 *
 * SOFT_INVALID_VALUE: not the start of an allocation of soft_malloc.
 * SOFT_NOT_PERMITTED: memory that another process exported.
 * SOFT_OUT_OF_MEMORY: the machine cannot hold the shared pages.
 * SOFT_NOT_READY: running tasks wait for others, so work does not pause. */
SOFT_API soft_status soft_ipc_export_memory(const void* ptr,
                                            soft_ipc_handle* out_handle);

/* Makes the allocation of another process accessible as memory of `device`,
 * which need not be the device it belongs to there. *out_ptr is its start, and
 * behaves as an allocation of that device, except that it does not count as
 * used memory of it. Each open needs one close; opening a handle again gives
 * the same address.
 *
 * SOFT_INVALID_HANDLE: the bytes are no handle of memory, the exporter has
 * ended, or it has freed the allocation.
 * SOFT_NOT_PERMITTED: this process made the handle (use the pointer itself), or
 * the exporter is of another user.
 * SOFT_NOT_SUPPORTED: the exporter runs in another PID namespace. */
SOFT_API soft_status soft_ipc_open_memory(int32_t device,
                                          const soft_ipc_handle* handle,
                                          void** out_ptr);

/* Ends one open. The last one waits for all devices and takes the addresses
 * back. NULL is accepted; an address that soft_ipc_open_memory did not return
 * is SOFT_INVALID_VALUE. Blocks. */
SOFT_API soft_status soft_ipc_close_memory(void* ptr);

/* -------------------------------------------------------------- events */

/* An event that was created with SOFT_EVENT_INTERPROCESS behaves as any other
 * without timing, except that the record that queries and waits refer to is the
 * last one of any process that has opened it. At most 64 records of it may be
 * pending; recording blocks beyond that. It cannot be captured in a graph.
 *
 * When the process that made the last record ends before the record is reached,
 * queries and waits return SOFT_LAUNCH_FAILURE with its number, and a stream
 * that waits fails with the same. Nobody hangs; it takes up to 50 ms. */

/* Makes a handle for an event that this process created.
 * SOFT_INVALID_VALUE: it was created without SOFT_EVENT_INTERPROCESS. */
SOFT_API soft_status soft_ipc_export_event(const soft_event* event,
                                           soft_ipc_handle* out_handle);
/* Opens the event of another process, for streams of `device`. It is released
 * with soft_event_destroy; neither process's release touches the other. Errors
 * are those of soft_ipc_open_memory. */
SOFT_API soft_status soft_ipc_open_event(int32_t device,
                                         const soft_ipc_handle* handle,
                                         soft_event** out_event);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* DIPU_SOFTDEVICE_SOFT_IPC_H_ */
