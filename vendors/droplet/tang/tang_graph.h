/* SPDX-License-Identifier: Apache-2.0
 *
 * Capture and graphs of tang: record the work of streams once, replay it often.
 * Use tang_runtime.h.
 *
 * Between begin and end nothing that is enqueued on the stream runs; it becomes
 * a graph. A stream that waits for an event recorded in the capture joins it,
 * and has to be waited for by the first stream before the end. What cannot be
 * captured, such as synchronising a captured stream or copying pageable host
 * memory, returns an error and invalidates the capture. Default streams other
 * than tangStreamPerThread cannot be captured.
 *
 * Differs from the CUDA runtime: the codes are 306 to 314, and
 * tangGraphInstantiate has the five arguments of CUDA 11. Nodes cannot be added
 * by hand: a graph comes from a capture.
 */
#ifndef DIPU_VENDORS_DROPLET_TANG_TANG_GRAPH_H_
#define DIPU_VENDORS_DROPLET_TANG_TANG_GRAPH_H_

#include "vendors/droplet/tang/tang_types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct soft_graph* tangGraph_t;
typedef struct soft_graph_exec* tangGraphExec_t;
typedef struct tangGraphNode* tangGraphNode_t;

/* Whose unsafe calls, such as an allocation, invalidate a capture. */
typedef enum tangStreamCaptureMode {
  tangStreamCaptureModeGlobal = 0,      /* those of any thread */
  tangStreamCaptureModeThreadLocal = 1, /* those of the thread that began it */
  tangStreamCaptureModeRelaxed = 2      /* nobody's */
} tangStreamCaptureMode;

typedef enum tangStreamCaptureStatus {
  tangStreamCaptureStatusNone = 0,
  tangStreamCaptureStatusActive = 1,
  tangStreamCaptureStatusInvalidated = 2 /* tangStreamEndCapture will fail */
} tangStreamCaptureStatus;

TANG_API tangError_t tangStreamBeginCapture(tangStream_t stream,
                                            tangStreamCaptureMode mode);
/* Only the thread that began a capture may end it, unless it is Relaxed. The
 * capture is over whatever is returned, except for "unmatched" (309). */
TANG_API tangError_t tangStreamEndCapture(tangStream_t stream,
                                          tangGraph_t* pGraph);
TANG_API tangError_t tangStreamIsCapturing(tangStream_t stream,
                                           tangStreamCaptureStatus* pStatus);
/* Outputs other than pStatus may be NULL. The graph being made and its nodes
 * are not shown: *pGraph and *deps become NULL, *numDeps 0. */
TANG_API tangError_t tangStreamGetCaptureInfo(tangStream_t hStream,
                                              tangStreamCaptureStatus* pStatus,
                                              unsigned long long* pId,
                                              tangGraph_t* pGraph,
                                              const tangGraphNode_t** deps,
                                              size_t* numDeps);
/* Swaps *mode with the thread's mode, which decides whose captures its own
 * unsafe calls invalidate. */
TANG_API tangError_t
tangThreadExchangeStreamCaptureMode(tangStreamCaptureMode* mode);

/* The third and fourth argument are not used, the fifth must be 0. */
TANG_API tangError_t tangGraphInstantiate(tangGraphExec_t* pGraphExec,
                                          tangGraph_t graph, void* errorNode,
                                          void* logBuffer,
                                          unsigned long long flags);
TANG_API tangError_t tangGraphInstantiateWithFlags(tangGraphExec_t* pGraphExec,
                                                   tangGraph_t graph,
                                                   unsigned long long flags);
/* Enqueues one replay; those of one executable graph never overlap. */
TANG_API tangError_t tangGraphLaunch(tangGraphExec_t graphExec,
                                     tangStream_t stream);
/* Executable graphs made from it stay valid. */
TANG_API tangError_t tangGraphDestroy(tangGraph_t graph);
/* Pending replays run to their end. */
TANG_API tangError_t tangGraphExecDestroy(tangGraphExec_t graphExec);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* DIPU_VENDORS_DROPLET_TANG_TANG_GRAPH_H_ */
