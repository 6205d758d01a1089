/* SPDX-License-Identifier: Apache-2.0
 *
 * PCCL: the collectives library of droplet's SDK.
 *
 * Names, order of arguments and values are those of the vendor's library, the
 * declarations are this project's own. A communicator joins ranks, one device
 * each, that are processes of one user on one machine, or threads. Threads
 * mind that tangFree waits for all devices of the process, and so for ranks
 * that wait for the thread.
 *
 * Every collective is enqueued on `stream` and returns at once; all ranks call
 * it in the same order. Counts are in elements. Collectives may be in place
 * (send == recv, or the rank's own part of the larger buffer). Work of one
 * communicator runs in the order of its calls, also on different streams.
 *
 * Reductions of a world size always give the same bits, and the same on every
 * rank: ranks are added in their order, 16-bit floating-point numbers in
 * float32, and the average of integers is cut towards zero.
 *
 * Failures of one rank (a call unlike those of the others, a process that dies
 * or does not come in time, an abort) end the communicator on all ranks:
 * pcclCommGetAsyncError tells the code, pcclGetLastError which rank, operation
 * and sequence number. Streams go on; what is enqueued does nothing any more.
 *
 * Environment, read when a communicator is made:
 *   PCCL_TIMEOUT_MS  how long work waits for another rank (default 1800000)
 *   PCCL_SPIN_US     how long it polls before it sleeps (default 100)
 */
#ifndef DIPU_VENDORS_DROPLET_TANG_PCCL_PCCL_H_
#define DIPU_VENDORS_DROPLET_TANG_PCCL_PCCL_H_

#include <stddef.h>

#include "vendors/droplet/tang/tang_runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PCCL_UNIQUE_ID_BYTES 128

typedef struct pcclComm* pcclComm_t;
typedef struct pcclUniqueId {
  char internal[PCCL_UNIQUE_ID_BYTES];
} pcclUniqueId;

typedef enum pcclResult {
  pcclSuccess = 0,
  pcclUnhandledTangError = 1,
  pcclSystemError = 2,
  pcclInternalError = 3,
  pcclInvalidArgument = 4,
  pcclInvalidUsage = 5, /* e.g. ranks that call different operations */
  pcclRemoteError = 6,  /* another rank died, aborted or did not come */
  pcclInProgress = 7,
  pcclInvalidDeviceIndex = 8
} pcclResult_t;

typedef enum pcclRedOp {
  pcclSum = 0,
  pcclProd = 1,
  pcclMax = 2,
  pcclMin = 3,
  pcclAvg = 4
} pcclRedOp_t;

/* There is no double, and 8 is not what NCCL calls 8. */
typedef enum pcclDataType {
  pcclInt8 = 0,
  pcclUint8 = 1,
  pcclInt32 = 2,
  pcclUint32 = 3,
  pcclInt64 = 4,
  pcclUint64 = 5,
  pcclHalf = 6,
  pcclFloat = 7,
  pcclBfloat16 = 8
} pcclDataType_t;

TANG_API pcclResult_t pcclGetVersion(int* version);
/* The process that makes an id lives until all ranks have joined. */
TANG_API pcclResult_t pcclGetUniqueId(pcclUniqueId* uniqueId);
/* Blocks until all `ndev` ranks have called it, each with its own `rank`, and
 * takes the thread's current device. Not within a group. */
TANG_API pcclResult_t pcclCommInitRank(pcclComm_t* comm, int ndev,
                                       pcclUniqueId commId, int rank);
/* All ranks of this process; `devlist` NULL is 0 .. ndev-1. Blocks. */
TANG_API pcclResult_t pcclCommInitAll(pcclComm_t* comms, int ndev,
                                      const int* devlist);
/* Ends the handle at once and the communicator after its work. */
TANG_API pcclResult_t pcclCommDestroy(pcclComm_t comm);
/* Ends pending work of all ranks with an error, and the handle. Any thread. */
TANG_API pcclResult_t pcclCommAbort(pcclComm_t comm);
TANG_API pcclResult_t pcclCommGetAsyncError(pcclComm_t comm,
                                            pcclResult_t* asyncError);
TANG_API const char* pcclGetErrorString(pcclResult_t result);
/* Why the communicator failed, else, and for NULL, the last failure of the
 * calling thread; "" if there is none. Valid until the thread's next call. */
TANG_API const char* pcclGetLastError(pcclComm_t comm);
TANG_API pcclResult_t pcclCommCount(const pcclComm_t comm, int* count);
TANG_API pcclResult_t pcclCommCuDevice(const pcclComm_t comm, int* device);
TANG_API pcclResult_t pcclCommUserRank(const pcclComm_t comm, int* rank);

TANG_API pcclResult_t pcclAllReduce(const void* sendbuff, void* recvbuff,
                                    size_t count, pcclDataType_t datatype,
                                    pcclRedOp_t op, pcclComm_t comm,
                                    tangStream_t stream);
TANG_API pcclResult_t pcclBroadcast(const void* sendbuff, void* recvbuff,
                                    size_t count, pcclDataType_t datatype,
                                    int root, pcclComm_t comm,
                                    tangStream_t stream);
/* Only the root's recvbuff is used. */
TANG_API pcclResult_t pcclReduce(const void* sendbuff, void* recvbuff,
                                 size_t count, pcclDataType_t datatype,
                                 pcclRedOp_t op, int root, pcclComm_t comm,
                                 tangStream_t stream);
TANG_API pcclResult_t pcclReduceScatter(const void* sendbuff, void* recvbuff,
                                        size_t recvcount,
                                        pcclDataType_t datatype, pcclRedOp_t op,
                                        pcclComm_t comm, tangStream_t stream);
TANG_API pcclResult_t pcclAllGather(const void* sendbuff, void* recvbuff,
                                    size_t count, pcclDataType_t datatype,
                                    pcclComm_t comm, tangStream_t stream);
/* Messages between two ranks arrive in order. Those of one group proceed
 * together; the vendor's library wants all of them in groups. */
TANG_API pcclResult_t pcclSend(const void* sendbuff, size_t count,
                               pcclDataType_t datatype, int peer,
                               pcclComm_t comm, tangStream_t stream);
TANG_API pcclResult_t pcclRecv(void* recvbuff, size_t count,
                               pcclDataType_t datatype, int peer,
                               pcclComm_t comm, tangStream_t stream);
/* What this thread calls between them is enqueued at the outermost end, or
 * nothing of it when one of the calls failed. */
TANG_API pcclResult_t pcclGroupStart(void);
TANG_API pcclResult_t pcclGroupEnd(void);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* DIPU_VENDORS_DROPLET_TANG_PCCL_PCCL_H_ */
