/* SPDX-License-Identifier: Apache-2.0
 *
 * Virtual memory: address ranges that grow without moving (expandable
 * segments). Provisional: the host does not use it yet; its allocator has fixed
 * segments.
 */
#ifndef DIPU_CORE_ABI_VIRTUAL_MEMORY_H_
#define DIPU_CORE_ABI_VIRTUAL_MEMORY_H_

#include "core/abi/frozen/v1_1/base.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DIPU_VIRTUAL_MEMORY_API_VERSION DIPU_VERSION(0, 1)

typedef struct dipu_physical_memory dipu_physical_memory;

typedef struct dipu_virtual_memory_api {
  size_t struct_size;
  uint32_t version; /* DIPU_VIRTUAL_MEMORY_API_VERSION */
  uint32_t reserved0;
  /* All sizes and offsets below are multiples of it. */
  dipu_error* (*get_granularity)(int32_t device, size_t* out_bytes);
  dipu_error* (*reserve)(int32_t device, size_t bytes, void** out_ptr);
  void (*release_range)(int32_t device, void* ptr, size_t bytes);
  dipu_error* (*create)(int32_t device, size_t bytes,
                        dipu_physical_memory** out_memory);
  /* Frees the memory once it is mapped nowhere. */
  void (*destroy)(dipu_physical_memory* memory);
  /* Maps all of `memory` at `ptr` inside a reserved range. */
  dipu_error* (*map)(void* ptr, size_t bytes, dipu_physical_memory* memory);
  dipu_error* (*unmap)(void* ptr, size_t bytes);
  /* Lets `device` read and write the mapped range. */
  dipu_error* (*set_access)(void* ptr, size_t bytes, int32_t device);
} dipu_virtual_memory_api;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* DIPU_CORE_ABI_VIRTUAL_MEMORY_H_ */
