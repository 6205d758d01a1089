/* SPDX-License-Identifier: Apache-2.0
 *
 * Graphs of softdevice: record what is enqueued once, replay it often.
 *
 * Between soft_stream_begin_capture and soft_stream_end_capture nothing that is
 * enqueued on the stream runs; it becomes nodes of a graph instead. A replay
 * runs all of them for the price of one launch.
 *
 * What can be captured: launches, host functions, copies and fills of device
 * and pinned memory, events, and launches of other graphs. Payloads are copied
 * at capture and every replay starts from that copy, so a task that changes its
 * payload does not change the next replay. Addresses are translated at capture:
 * memory that a graph uses must outlive its replays.
 *
 * Forks and joins. A stream, of any device, that waits for an event recorded in
 * a capture joins the capture, and its work becomes a branch. Branches run
 * beside each other. Before the capture ends the first stream must have waited
 * for the last work of every branch.
 *
 * Events. One recorded in a capture marks a place of the graph, no work, until
 * it is recorded outside of a capture again. One that has timing gets a new
 * time stamp in each replay: soft_event_elapsed then tells the last one's, and
 * SOFT_NOT_READY before the first. Ask when no replay is pending, which would
 * leave one event with the time of this replay and one with that of the last.
 *
 * What cannot be captured is an error that names the call, and it invalidates
 * the capture (SOFT_CAPTURE_UNSUPPORTED unless noted otherwise):
 *  - soft_stream_query, _synchronize, _destroy or _begin_capture of a stream
 *    that is being captured; soft_event_query or _synchronize of an event
 *    recorded in a capture; soft_device_synchronize of a device with such a
 *    stream;
 *  - a wait for an event that was not recorded in the same capture, even when
 *    it is reached: a replay would not wait for it. Never recorded ones are
 *    waited for in no time, as usual;
 *  - a wait, outside of a capture, for an event of a capture that has ended;
 *  - copies of pageable host memory;
 *  - an address that soft_translate refuses;
 *  - work for a device that is lost (SOFT_DEVICE_LOST);
 *  - the device's default stream: work of it that would have to wait for a
 *    stream being captured, and a wait of it for an event of a capture, are
 *    SOFT_CAPTURE_IMPLICIT;
 *  - unsafe calls, see soft_capture_mode.
 * Further calls with the streams of an invalidated capture return
 * SOFT_CAPTURE_INVALIDATED; it forbids no unsafe calls any more. Calls with bad
 * arguments are refused as always and harm no capture. soft_device_reset
 * invalidates the captures that use the device; those that began on one of its
 * streams are gone, like the stream.
 *
 * Threads, errors, processes: as in softdevice.h. Several threads may capture
 * at once, on different streams.
 */
#ifndef DIPU_SOFTDEVICE_SOFT_GRAPH_H_
#define DIPU_SOFTDEVICE_SOFT_GRAPH_H_

#include <stddef.h>
#include <stdint.h>

#include "softdevice/softdevice.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------- capture */

/* Which unsafe calls are refused while a capture is under way: soft_malloc,
 * soft_free, soft_host_malloc, soft_host_free, soft_host_register,
 * soft_host_unregister, soft_memcpy, soft_memcpy_2d, the functions of
 * soft_virtual_memory.h and those of soft_ipc.h for memory,
 * soft_device_synchronize, and the query or synchronisation of any other stream
 * or event.
 *
 * As the mode of a capture: */
typedef int32_t soft_capture_mode;
enum {
  SOFT_CAPTURE_GLOBAL = 0,       /* those of all threads */
  SOFT_CAPTURE_THREAD_LOCAL = 1, /* those of the thread that began it */
  SOFT_CAPTURE_RELAXED = 2       /* none */
};
/* As the mode of a thread (soft_thread_exchange_capture_mode), which decides
 * whose captures the thread's own calls can harm: GLOBAL: its own that are not
 * RELAXED, and those of other threads that are GLOBAL; THREAD_LOCAL: its own
 * that are not RELAXED; RELAXED: none. */

typedef int32_t soft_capture_status;
enum {
  SOFT_CAPTURE_STATUS_NONE = 0,
  SOFT_CAPTURE_STATUS_ACTIVE = 1,
  SOFT_CAPTURE_STATUS_INVALIDATED = 2 /* soft_stream_end_capture will fail */
};

typedef struct soft_graph soft_graph;
typedef struct soft_graph_exec soft_graph_exec;

/* Starts to record what is enqueued on `stream`; work enqueued before runs
 * undisturbed. The default stream cannot be captured. Does not block. */
SOFT_API soft_status soft_stream_begin_capture(soft_stream* stream,
                                               soft_capture_mode mode);

/* Ends the capture that began on `stream` and gives what it recorded; the
 * caller destroys the graph. All streams of the capture are usable again,
 * whatever is returned, with one exception: SOFT_CAPTURE_UNMATCHED, for a
 * stream on which no capture began or a thread other than the one that began
 * it (SOFT_CAPTURE_RELAXED ones may be ended by any), changes nothing.
 * SOFT_CAPTURE_INVALIDATED: the message tells the call that spoilt it.
 * SOFT_CAPTURE_UNJOINED: the message tells the branch that `stream` has not
 * waited for. Does not block. */
SOFT_API soft_status soft_stream_end_capture(soft_stream* stream,
                                             soft_graph** out_graph);

/* Whether `stream` is being captured, and the number of the capture, which is
 * never reused; 0 if there is none. `out_id` may be NULL. Always permitted. */
SOFT_API soft_status soft_stream_get_capture(soft_stream* stream,
                                             soft_capture_status* out_status,
                                             uint64_t* out_id);

/* Sets the calling thread's mode to *inout_mode and *inout_mode to the mode
 * before; threads begin with SOFT_CAPTURE_GLOBAL. Used in pairs around a call
 * that is known to be harmless, such as an allocation by a cache. */
SOFT_API soft_status
soft_thread_exchange_capture_mode(soft_capture_mode* inout_mode);

/* -------------------------------------------------------------- graphs */

/* A graph never changes. Its functions do not block. */

/* Number of nodes: launches, copies, fills, host functions, records of events
 * with timing, and launches of graphs (one node each). */
SOFT_API soft_status soft_graph_node_count(const soft_graph* graph,
                                           size_t* out_count);
/* Writes nodes and dependencies to the file `path` in the language of
 * Graphviz. The file is replaced. */
SOFT_API soft_status soft_graph_write_dot(const soft_graph* graph,
                                          const char* path);
/* Executable graphs made from it stay valid. NULL is accepted. */
SOFT_API soft_status soft_graph_destroy(soft_graph* graph);

/* Makes an executable graph, with copies of all payloads; the caller destroys
 * it. A graph with branches may start threads, which all graphs share.
 * SOFT_OUT_OF_MEMORY when the system refuses one. */
SOFT_API soft_status soft_graph_instantiate(const soft_graph* graph,
                                            soft_graph_exec** out_exec);

/* Enqueues one replay on `stream`, of any device; later work of the stream
 * waits for all of it. The branch that began the capture runs on `stream` if
 * that is of the branch's device, the others on streams of their devices.
 * Replays of one executable graph never overlap: one on another stream waits
 * for the one before. A task that fails does not stop the replay; the message
 * names the node. Blocks only while a ring is full, and so may not be called by
 * a task or host function: SOFT_NOT_PERMITTED.
 *
 * On a stream that is being captured the launch becomes a node, which keeps
 * what `exec` holds now. SOFT_INVALID_HANDLE when a device of the graph has
 * been reset since it was captured. */
SOFT_API soft_status soft_graph_launch(soft_graph_exec* exec,
                                       soft_stream* stream);

/* Makes later launches of `exec` replay `graph`, with its functions, payloads
 * and addresses; pending replays are not disturbed. After a reset it makes
 * `exec` usable again. SOFT_INVALID_VALUE, and nothing changed, unless both
 * graphs have the same shape: kinds of the nodes, dependencies and devices.
 * Blocks only while another thread launches `exec`; SOFT_NOT_PERMITTED when a
 * task or host function calls it. */
SOFT_API soft_status soft_graph_exec_update(soft_graph_exec* exec,
                                            const soft_graph* graph);

/* Legal while replays are pending. The handle is dead at once; no other thread
 * may be using it. NULL is accepted. Does not block. */
SOFT_API soft_status soft_graph_exec_destroy(soft_graph_exec* exec);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* DIPU_SOFTDEVICE_SOFT_GRAPH_H_ */
