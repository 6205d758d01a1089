/* SPDX-License-Identifier: Apache-2.0
 *
 * Where every released field of the contract lies. Libraries exist that were
 * built with these offsets: append, do not insert. When a line below stops
 * compiling, undo the change of the header instead of editing the number.
 * The size is a lower bound, because structs grow at their end.
 *
 * Compiled as C11 (layout_c.c) and as C++17 (layout_test.cc).
 */
#ifndef DIPU_CORE_ABI_TESTS_LAYOUT_H_
#define DIPU_CORE_ABI_TESTS_LAYOUT_H_

#include <assert.h>
#include <stddef.h>

#include "core/abi/vendor_api.h"

#define DIPU_PIN(type, field, offset)              \
  static_assert(offsetof(type, field) == (offset), \
                #type "::" #field ": append, do not insert")
#define DIPU_PIN_SIZE(type, bytes) \
  static_assert(sizeof(type) >= (bytes), #type " lost a field")

DIPU_PIN(dipu_error, struct_size, 0);
DIPU_PIN(dipu_error, code, 8);
DIPU_PIN(dipu_error, reserved0, 12);
DIPU_PIN(dipu_error, vendor_code, 16);
DIPU_PIN(dipu_error, message, 24);
DIPU_PIN(dipu_error, release, 32);
DIPU_PIN_SIZE(dipu_error, 40);

DIPU_PIN(dipu_host_services, struct_size, 0);
DIPU_PIN(dipu_host_services, abi_version, 8);
DIPU_PIN(dipu_host_services, reserved0, 12);
DIPU_PIN(dipu_host_services, log, 16);
DIPU_PIN_SIZE(dipu_host_services, 24);

DIPU_PIN(dipu_device_properties, struct_size, 0);
DIPU_PIN(dipu_device_properties, name, 8);
DIPU_PIN(dipu_device_properties, total_memory, 136);
DIPU_PIN(dipu_device_properties, major, 144);
DIPU_PIN(dipu_device_properties, minor, 148);
DIPU_PIN(dipu_device_properties, multi_processor_count, 152);
DIPU_PIN(dipu_device_properties, max_threads_per_block, 156);
DIPU_PIN(dipu_device_properties, warp_size, 160);
DIPU_PIN(dipu_device_properties, reserved0, 164);
DIPU_PIN(dipu_device_properties, supported_dtypes, 168);
DIPU_PIN(dipu_device_properties, pci_bus_id, 176);
DIPU_PIN_SIZE(dipu_device_properties, 208);

DIPU_PIN(dipu_device_api, struct_size, 0);
DIPU_PIN(dipu_device_api, version, 8);
DIPU_PIN(dipu_device_api, reserved0, 12);
DIPU_PIN(dipu_device_api, get_count, 16);
DIPU_PIN(dipu_device_api, set_current, 24);
DIPU_PIN(dipu_device_api, get_current, 32);
DIPU_PIN(dipu_device_api, synchronize, 40);
DIPU_PIN(dipu_device_api, get_properties, 48);
DIPU_PIN(dipu_device_api, reset, 56);
DIPU_PIN(dipu_device_api, can_access_peer, 64);
DIPU_PIN(dipu_device_api, enable_peer_access, 72);
DIPU_PIN(dipu_device_api, disable_peer_access, 80);
DIPU_PIN_SIZE(dipu_device_api, 88);

DIPU_PIN(dipu_pointer_info, struct_size, 0);
DIPU_PIN(dipu_pointer_info, kind, 8);
DIPU_PIN(dipu_pointer_info, device, 12);
DIPU_PIN(dipu_pointer_info, allocation, 16);
DIPU_PIN(dipu_pointer_info, bytes, 24);
DIPU_PIN_SIZE(dipu_pointer_info, 32);

DIPU_PIN(dipu_memory_api, struct_size, 0);
DIPU_PIN(dipu_memory_api, version, 8);
DIPU_PIN(dipu_memory_api, reserved0, 12);
DIPU_PIN(dipu_memory_api, allocate, 16);
DIPU_PIN(dipu_memory_api, deallocate, 24);
DIPU_PIN(dipu_memory_api, get_info, 32);
DIPU_PIN(dipu_memory_api, host_allocate, 40);
DIPU_PIN(dipu_memory_api, host_deallocate, 48);
DIPU_PIN(dipu_memory_api, copy, 56);
DIPU_PIN(dipu_memory_api, copy_async, 64);
DIPU_PIN(dipu_memory_api, set_async, 72);
DIPU_PIN(dipu_memory_api, get_pointer_info, 80);
DIPU_PIN(dipu_memory_api, host_register, 88);
DIPU_PIN(dipu_memory_api, host_unregister, 96);
DIPU_PIN(dipu_memory_api, copy_2d_async, 104);
DIPU_PIN_SIZE(dipu_memory_api, 112);

DIPU_PIN(dipu_stream_api, struct_size, 0);
DIPU_PIN(dipu_stream_api, version, 8);
DIPU_PIN(dipu_stream_api, reserved0, 12);
DIPU_PIN(dipu_stream_api, create, 16);
DIPU_PIN(dipu_stream_api, destroy, 24);
DIPU_PIN(dipu_stream_api, get_default, 32);
DIPU_PIN(dipu_stream_api, query, 40);
DIPU_PIN(dipu_stream_api, synchronize, 48);
DIPU_PIN(dipu_stream_api, wait_event, 56);
DIPU_PIN(dipu_stream_api, get_priority_range, 64);
DIPU_PIN(dipu_stream_api, launch_host_func, 72);
DIPU_PIN_SIZE(dipu_stream_api, 80);

DIPU_PIN(dipu_event_api, struct_size, 0);
DIPU_PIN(dipu_event_api, version, 8);
DIPU_PIN(dipu_event_api, reserved0, 12);
DIPU_PIN(dipu_event_api, create, 16);
DIPU_PIN(dipu_event_api, destroy, 24);
DIPU_PIN(dipu_event_api, record, 32);
DIPU_PIN(dipu_event_api, query, 40);
DIPU_PIN(dipu_event_api, synchronize, 48);
DIPU_PIN(dipu_event_api, elapsed, 56);
DIPU_PIN_SIZE(dipu_event_api, 64);

DIPU_PIN(dipu_vendor, struct_size, 0);
DIPU_PIN(dipu_vendor, abi_version, 8);
DIPU_PIN(dipu_vendor, flags, 12);
DIPU_PIN(dipu_vendor, name, 16);
DIPU_PIN(dipu_vendor, display_name, 24);
DIPU_PIN(dipu_vendor, version, 32);
DIPU_PIN(dipu_vendor, sdk_version, 40);
DIPU_PIN(dipu_vendor, initialize, 48);
DIPU_PIN(dipu_vendor, device, 56);
DIPU_PIN(dipu_vendor, memory, 64);
DIPU_PIN(dipu_vendor, stream, 72);
DIPU_PIN(dipu_vendor, event, 80);
DIPU_PIN(dipu_vendor, operators, 88);
DIPU_PIN(dipu_vendor, communicator, 96);
DIPU_PIN(dipu_vendor, graph, 104);
DIPU_PIN(dipu_vendor, ipc, 112);
DIPU_PIN(dipu_vendor, virtual_memory, 120);
DIPU_PIN(dipu_vendor, profiler, 128);
DIPU_PIN(dipu_vendor, generator, 136);
DIPU_PIN(dipu_vendor, shutdown, 144);
DIPU_PIN_SIZE(dipu_vendor, 152);

#undef DIPU_PIN
#undef DIPU_PIN_SIZE

static_assert(DIPU_OK == 0, "absl's numbering");
static_assert(DIPU_RESOURCE_EXHAUSTED == 8, "absl's numbering");
static_assert(DIPU_UNIMPLEMENTED == 12, "absl's numbering");
static_assert(DIPU_UNAUTHENTICATED == 16, "absl's numbering");
static_assert(DIPU_HOST == -1, "released value");
static_assert(DIPU_MEMORY_PINNED == 2, "released value");
static_assert(DIPU_EVENT_INTERPROCESS == 4, "released value");
static_assert(DIPU_VERSION(1, 2) == 0x10002u, "released packing");

#endif /* DIPU_CORE_ABI_TESTS_LAYOUT_H_ */
