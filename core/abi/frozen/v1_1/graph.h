/* SPDX-License-Identifier: Apache-2.0
 *
 * Graph: recording the work of a stream and replaying it. Provisional: the host
 * does not use it yet, and torch.accelerator.Graph raises "not supported".
 */
#ifndef DIPU_CORE_ABI_GRAPH_H_
#define DIPU_CORE_ABI_GRAPH_H_

#include "core/abi/frozen/v1_1/base.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DIPU_GRAPH_API_VERSION DIPU_VERSION(0, 1)

typedef struct dipu_graph dipu_graph;           /* what was recorded */
typedef struct dipu_graph_exec dipu_graph_exec; /* ready to be replayed */

/* Which calls are forbidden during a capture, and on which threads. */
typedef int32_t dipu_capture_mode;
enum {
  DIPU_CAPTURE_GLOBAL = 0,       /* unsafe calls of any thread fail */
  DIPU_CAPTURE_THREAD_LOCAL = 1, /* unsafe calls of this thread fail */
  DIPU_CAPTURE_RELAXED = 2       /* none fail */
};

typedef int32_t dipu_capture_status;
enum {
  DIPU_CAPTURE_NONE = 0,
  DIPU_CAPTURE_ACTIVE = 1,
  DIPU_CAPTURE_INVALIDATED = 2 /* an illegal call ended it; end reports it */
};

typedef struct dipu_graph_api {
  size_t struct_size;
  uint32_t version; /* DIPU_GRAPH_API_VERSION */
  uint32_t reserved0;
  /* From here on work enqueued on `stream`, and on streams joined to it by
   * events, is recorded instead of run. */
  dipu_error* (*begin_capture)(dipu_stream* stream, dipu_capture_mode mode);
  /* Ends the recording; the caller owns the graph. */
  dipu_error* (*end_capture)(dipu_stream* stream, dipu_graph** out_graph);
  dipu_error* (*get_capture_status)(dipu_stream* stream,
                                    dipu_capture_status* out_status);
  dipu_error* (*instantiate)(dipu_graph* graph, dipu_graph_exec** out_exec);
  /* Enqueues one replay. Replays of one exec do not overlap. */
  dipu_error* (*launch)(dipu_graph_exec* exec, dipu_stream* stream);
  void (*destroy)(dipu_graph* graph);
  void (*destroy_exec)(dipu_graph_exec* exec);
  /* (optional) Writes a description for people (DOT) to `path`. Without it
   * debug_dump is refused. */
  dipu_error* (*write_dot)(dipu_graph* graph, const char* path);
} dipu_graph_api;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* DIPU_CORE_ABI_GRAPH_H_ */
