/* SPDX-License-Identifier: Apache-2.0
 *
 * Communicator: collectives between devices, one rank per device. Provisional.
 *
 * All collectives enqueue on `stream`, which belongs to the communicator's
 * device, and must be called by every rank in the same order. Counts are in
 * elements. In-place calls (send == recv where the layouts agree) are legal.
 */
#ifndef DIPU_CORE_ABI_COMMUNICATOR_H_
#define DIPU_CORE_ABI_COMMUNICATOR_H_

#include "core/abi/frozen/v1_1/base.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DIPU_COMMUNICATOR_API_VERSION DIPU_VERSION(0, 1)

typedef struct dipu_communicator dipu_communicator;

typedef int32_t dipu_reduce_op;
enum {
  DIPU_REDUCE_SUM = 0,
  DIPU_REDUCE_PROD = 1,
  DIPU_REDUCE_MAX = 2,
  DIPU_REDUCE_MIN = 3,
  DIPU_REDUCE_AVG = 4
};

/* Arguments of create; the caller sets struct_size. */
typedef struct dipu_communicator_create_args {
  size_t struct_size;
  int32_t device;
  int32_t rank; /* 0 .. world_size-1 */
  int32_t world_size;
  int32_t reserved0;
  const void* unique_id; /* unique_id_size bytes, equal on all ranks */
} dipu_communicator_create_args;

typedef struct dipu_communicator_api {
  size_t struct_size;
  uint32_t version; /* DIPU_COMMUNICATOR_API_VERSION */
  uint32_t unique_id_size;
  /* Bit i: dipu_reduce_op i is supported; bit i: dipu_dtype i is. What is
   * missing the host composes (AVG as SUM and a division) or refuses. */
  uint64_t supported_reduce_ops;
  uint64_t supported_dtypes;
  /* Writes unique_id_size bytes; rank 0 calls it and shares the result. */
  dipu_error* (*get_unique_id)(void* out_id);
  /* Blocks until all ranks have called it. */
  dipu_error* (*create)(const dipu_communicator_create_args* args,
                        dipu_communicator** out_communicator);
  void (*destroy)(dipu_communicator* communicator);
  /* Ends pending collectives on this rank with an error. Any thread. */
  void (*abort)(dipu_communicator* communicator);
  /* Reports a failure of a collective that has been enqueued. No block. */
  dipu_error* (*get_async_error)(dipu_communicator* communicator);
  dipu_error* (*all_reduce)(dipu_communicator* communicator, const void* send,
                            void* recv, size_t count, dipu_dtype dtype,
                            dipu_reduce_op op, dipu_stream* stream);
  dipu_error* (*broadcast)(dipu_communicator* communicator, const void* send,
                           void* recv, size_t count, dipu_dtype dtype,
                           int32_t root, dipu_stream* stream);
  dipu_error* (*reduce)(dipu_communicator* communicator, const void* send,
                        void* recv, size_t count, dipu_dtype dtype,
                        dipu_reduce_op op, int32_t root, dipu_stream* stream);
  /* recv holds world_size * send_count elements, in rank order. */
  dipu_error* (*all_gather)(dipu_communicator* communicator, const void* send,
                            void* recv, size_t send_count, dipu_dtype dtype,
                            dipu_stream* stream);
  /* send holds world_size * recv_count elements, in rank order. */
  dipu_error* (*reduce_scatter)(dipu_communicator* communicator,
                                const void* send, void* recv, size_t recv_count,
                                dipu_dtype dtype, dipu_reduce_op op,
                                dipu_stream* stream);
  dipu_error* (*send)(dipu_communicator* communicator, const void* buffer,
                      size_t count, dipu_dtype dtype, int32_t peer,
                      dipu_stream* stream);
  dipu_error* (*recv)(dipu_communicator* communicator, void* buffer,
                      size_t count, dipu_dtype dtype, int32_t peer,
                      dipu_stream* stream);
  /* Calls between start and end of this thread are issued as one. Nest. */
  dipu_error* (*group_start)(void);
  dipu_error* (*group_end)(void);
  /* (optional) Exchanges `count` elements with every rank. Without it the host
   * groups sends and receives. */
  dipu_error* (*all_to_all)(dipu_communicator* communicator, const void* send,
                            void* recv, size_t count, dipu_dtype dtype,
                            dipu_stream* stream);
} dipu_communicator_api;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* DIPU_CORE_ABI_COMMUNICATOR_H_ */
