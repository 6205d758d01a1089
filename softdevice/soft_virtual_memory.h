/* SPDX-License-Identifier: Apache-2.0
 *
 * softdevice: addresses and memory apart from one another.
 *
 * Addresses are reserved without memory, memory is created without addresses,
 * and mapping puts the one behind the other. So an allocation can grow at one
 * address, and one memory can be seen at several.
 *
 *     soft_vm_reserve      addresses of a device; no memory
 *     soft_vm_create       memory of a device; no address
 *     soft_vm_map          memory behind addresses; nobody may use them yet
 *     soft_vm_set_access   who may use them
 *
 * Sizes, offsets and addresses are multiples of the granularity (2 MiB), and
 * anything else is SOFT_INVALID_VALUE. Memory is mapped at addresses of its own
 * device.
 *
 * Work of a device may use a range once it has access to all of it. Otherwise
 * soft_translate fails with SOFT_ILLEGAL_ADDRESS, wherever in the range the
 * hole is, and copies with SOFT_INVALID_VALUE. Copies need the access of any
 * device. soft_device_enable_peer_access has no say here: access is given to
 * each device by name.
 *
 * Threads. Every function may be called from any thread, but not from a task or
 * while a capture forbids unsafe calls (soft_capture_mode in soft_graph.h).
 */
#ifndef DIPU_SOFTDEVICE_SOFT_VIRTUAL_MEMORY_H_
#define DIPU_SOFTDEVICE_SOFT_VIRTUAL_MEMORY_H_

#include "softdevice/softdevice.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Handle of memory; 0 is none. Never reused within a process. */
typedef uint64_t soft_vm_memory;

typedef int32_t soft_vm_access;
enum { SOFT_VM_ACCESS_NONE = 0, SOFT_VM_ACCESS_READ_WRITE = 1 };

/* Bytes that sizes and addresses are multiples of. */
SOFT_API soft_status soft_vm_granularity(size_t* out_bytes);

/* Reserves `bytes` of addresses, at `hint` if it is not NULL and free, else
 * anywhere. `alignment` is 0 or a power of two. A device has addresses for
 * eight times its capacity; SOFT_OUT_OF_MEMORY says that no gap is large
 * enough. */
SOFT_API soft_status soft_vm_reserve(int32_t device, size_t bytes,
                                     size_t alignment, void* hint,
                                     void** out_ptr);
/* Ends exactly one reservation, in which nothing is mapped any more. */
SOFT_API soft_status soft_vm_release(void* ptr, size_t bytes);

/* Creates `bytes` of memory, all zero. They count as used memory of the device
 * until the memory is destroyed and nowhere mapped; SOFT_OUT_OF_MEMORY as in
 * soft_malloc. */
SOFT_API soft_status soft_vm_create(int32_t device, size_t bytes,
                                    soft_vm_memory* out_memory);
/* Ends the handle. Mappings of the memory stay as they are. An unknown handle
 * is SOFT_INVALID_HANDLE. */
SOFT_API soft_status soft_vm_destroy(soft_vm_memory memory);

/* Maps `bytes` of the memory from `offset` on at reserved addresses where
 * nothing is mapped. Nobody has access at first. The same memory may be mapped
 * several times; writes through one address are seen through all. */
SOFT_API soft_status soft_vm_map(void* ptr, size_t bytes, soft_vm_memory memory,
                                 size_t offset);
/* Ends all mappings in the range, which consists of whole mappings without gaps
 * between them. Access ends first; then waits for the work of all devices.
 * Blocks. */
SOFT_API soft_status soft_vm_unmap(void* ptr, size_t bytes);

/* Lets work of `device` use the range, all of which is mapped, or forbids it.
 * Forbidding waits for the work of all devices. Blocks. */
SOFT_API soft_status soft_vm_set_access(void* ptr, size_t bytes, int32_t device,
                                        soft_vm_access access);
/* The access of `device` to the address; none where nothing is mapped. */
SOFT_API soft_status soft_vm_get_access(const void* ptr, int32_t device,
                                        soft_vm_access* out_access);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* DIPU_SOFTDEVICE_SOFT_VIRTUAL_MEMORY_H_ */
