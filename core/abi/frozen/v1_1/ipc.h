/* SPDX-License-Identifier: Apache-2.0
 *
 * IPC: sharing device memory and events between processes of one machine.
 * Provisional: the host does not use it yet. Tensors reach other processes by
 * way of the CPU.
 */
#ifndef DIPU_CORE_ABI_IPC_H_
#define DIPU_CORE_ABI_IPC_H_

#include "core/abi/frozen/v1_1/base.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DIPU_IPC_API_VERSION DIPU_VERSION(0, 1)

typedef struct dipu_ipc_api {
  size_t struct_size;
  uint32_t version;            /* DIPU_IPC_API_VERSION */
  uint32_t memory_handle_size; /* bytes of a memory handle */
  uint32_t event_handle_size;  /* bytes of an event handle; 0: no events */
  uint32_t reserved0;
  /* Exports the allocation that starts at `ptr`. Blocks. */
  dipu_error* (*export_memory)(int32_t device, void* ptr, void* out_handle);
  /* Maps it into this process. Closed with close_memory, never freed. */
  dipu_error* (*open_memory)(int32_t device, const void* handle,
                             void** out_ptr);
  void (*close_memory)(int32_t device, void* ptr);
  /* (optional) As above for events made with DIPU_EVENT_INTERPROCESS. Without
   * them the receiver synchronises with the sender instead. */
  dipu_error* (*export_event)(dipu_event* event, void* out_handle);
  dipu_error* (*open_event)(int32_t device, const void* handle,
                            dipu_event** out_event); /* (optional) */
} dipu_ipc_api;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* DIPU_CORE_ABI_IPC_H_ */
