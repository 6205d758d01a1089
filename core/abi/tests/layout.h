/* SPDX-License-Identifier: Apache-2.0
 *
 * Where every released field of the contract lies, of which type it is, and
 * every released value. Libraries exist that were built with these. When a line
 * below stops compiling, undo the change of the header instead of editing the
 * line; HOW_TO_CHANGE in core/abi/frozen/frozen_test.py says how to add to the
 * contract.
 *
 * Compiled as C11 (layout_c.c) and as C++17 (layout_test.cc), which alone can
 * compare types.
 */
#ifndef DIPU_CORE_ABI_TESTS_LAYOUT_H_
#define DIPU_CORE_ABI_TESTS_LAYOUT_H_

#include <assert.h>
#include <stddef.h>

#include "core/abi/vendor_api.h"

#ifdef __cplusplus
#include <type_traits>
#define DIPU_HAS_TYPE(type, field, ...) \
  std::is_same<decltype(type::field), __VA_ARGS__>::value
#else
#define DIPU_HAS_TYPE(type, field, ...) 1
#endif

#define DIPU_HOW                                                               \
  ": append below a since-1.N marker, raise the MINOR, add a CHANGELOG entry " \
  "and freeze a copy, as core/abi/frozen/frozen_test.py says"

/* The field's offset and type. */
#define DIPU_PIN(type, offset, field, ...)                   \
  static_assert(offsetof(type, field) == (offset) &&         \
                    DIPU_HAS_TYPE(type, field, __VA_ARGS__), \
                #type "::" #field " is released as it was" DIPU_HOW)

/* The size at MINOR 0 of the version that counts the struct's changes. */
#define DIPU_PIN_SIZE(type, bytes, version)                               \
  static_assert(DIPU_VERSION_MINOR(version) == 0 ? sizeof(type) == bytes  \
                                                 : sizeof(type) >= bytes, \
                #type " has another size than " #version " says" DIPU_HOW)

#define DIPU_PIN_VALUE(name, value) \
  static_assert(name == (value), #name " is released" DIPU_HOW)

/* clang-format off: one field a line */
DIPU_PIN(dipu_error, 0, struct_size, size_t);
DIPU_PIN(dipu_error, 8, code, dipu_status_code);
DIPU_PIN(dipu_error, 12, reserved0, int32_t);
DIPU_PIN(dipu_error, 16, vendor_code, int64_t);
DIPU_PIN(dipu_error, 24, message, const char*);
DIPU_PIN(dipu_error, 32, release, void (*)(dipu_error*));
DIPU_PIN_SIZE(dipu_error, 40, DIPU_ABI_VERSION);

DIPU_PIN(dipu_host_services, 0, struct_size, size_t);
DIPU_PIN(dipu_host_services, 8, abi_version, uint32_t);
DIPU_PIN(dipu_host_services, 12, reserved0, uint32_t);
DIPU_PIN(dipu_host_services, 16, log, void (*)(dipu_log_level, const char*));
DIPU_PIN_SIZE(dipu_host_services, 24, DIPU_ABI_VERSION);

DIPU_PIN(dipu_device_properties, 0, struct_size, size_t);
DIPU_PIN(dipu_device_properties, 8, name, char[128]);
DIPU_PIN(dipu_device_properties, 136, total_memory, uint64_t);
DIPU_PIN(dipu_device_properties, 144, major, int32_t);
DIPU_PIN(dipu_device_properties, 148, minor, int32_t);
DIPU_PIN(dipu_device_properties, 152, multi_processor_count, int32_t);
DIPU_PIN(dipu_device_properties, 156, max_threads_per_block, int32_t);
DIPU_PIN(dipu_device_properties, 160, warp_size, int32_t);
DIPU_PIN(dipu_device_properties, 164, reserved0, int32_t);
DIPU_PIN(dipu_device_properties, 168, supported_dtypes, uint64_t);
DIPU_PIN(dipu_device_properties, 176, pci_bus_id, char[32]);
DIPU_PIN_SIZE(dipu_device_properties, 208, DIPU_DEVICE_API_VERSION);

DIPU_PIN(dipu_device_api, 0, struct_size, size_t);
DIPU_PIN(dipu_device_api, 8, version, uint32_t);
DIPU_PIN(dipu_device_api, 12, reserved0, uint32_t);
DIPU_PIN(dipu_device_api, 16, get_count, dipu_error* (*)(int32_t*));
DIPU_PIN(dipu_device_api, 24, set_current, dipu_error* (*)(int32_t));
DIPU_PIN(dipu_device_api, 32, get_current, dipu_error* (*)(int32_t*));
DIPU_PIN(dipu_device_api, 40, synchronize, dipu_error* (*)(int32_t));
DIPU_PIN(dipu_device_api, 48, get_properties,
         dipu_error* (*)(int32_t, dipu_device_properties*));
DIPU_PIN(dipu_device_api, 56, reset, dipu_error* (*)(int32_t));
DIPU_PIN(dipu_device_api, 64, can_access_peer,
         dipu_error* (*)(int32_t, int32_t, int32_t*));
DIPU_PIN(dipu_device_api, 72, enable_peer_access,
         dipu_error* (*)(int32_t, int32_t));
DIPU_PIN(dipu_device_api, 80, disable_peer_access,
         dipu_error* (*)(int32_t, int32_t));
DIPU_PIN_SIZE(dipu_device_api, 88, DIPU_DEVICE_API_VERSION);

DIPU_PIN(dipu_pointer_info, 0, struct_size, size_t);
DIPU_PIN(dipu_pointer_info, 8, kind, dipu_memory_kind);
DIPU_PIN(dipu_pointer_info, 12, device, int32_t);
DIPU_PIN(dipu_pointer_info, 16, allocation, void*);
DIPU_PIN(dipu_pointer_info, 24, bytes, size_t);
DIPU_PIN(dipu_pointer_info, 32, host_pointer, void*); /* 1.1 */
DIPU_PIN_SIZE(dipu_pointer_info, 32, DIPU_MEMORY_API_VERSION);

DIPU_PIN(dipu_memory_api, 0, struct_size, size_t);
DIPU_PIN(dipu_memory_api, 8, version, uint32_t);
DIPU_PIN(dipu_memory_api, 12, reserved0, uint32_t);
DIPU_PIN(dipu_memory_api, 16, allocate,
         dipu_error* (*)(int32_t, size_t, void**));
DIPU_PIN(dipu_memory_api, 24, deallocate, void (*)(int32_t, void*));
DIPU_PIN(dipu_memory_api, 32, get_info,
         dipu_error* (*)(int32_t, size_t*, size_t*));
DIPU_PIN(dipu_memory_api, 40, host_allocate, dipu_error* (*)(size_t, void**));
DIPU_PIN(dipu_memory_api, 48, host_deallocate, void (*)(void*));
DIPU_PIN(dipu_memory_api, 56, copy,
         dipu_error* (*)(void*, int32_t, const void*, int32_t, size_t));
DIPU_PIN(dipu_memory_api, 64, copy_async,
         dipu_error* (*)(void*, int32_t, const void*, int32_t, size_t,
                         dipu_stream*));
DIPU_PIN(dipu_memory_api, 72, set_async,
         dipu_error* (*)(void*, int32_t, int32_t, size_t, dipu_stream*));
DIPU_PIN(dipu_memory_api, 80, get_pointer_info,
         dipu_error* (*)(const void*, dipu_pointer_info*));
DIPU_PIN(dipu_memory_api, 88, host_register, dipu_error* (*)(void*, size_t));
DIPU_PIN(dipu_memory_api, 96, host_unregister, void (*)(void*));
DIPU_PIN(dipu_memory_api, 104, copy_2d_async,
         dipu_error* (*)(void*, size_t, int32_t, const void*, size_t, int32_t,
                         size_t, size_t, dipu_stream*));
DIPU_PIN_SIZE(dipu_memory_api, 112, DIPU_MEMORY_API_VERSION);

DIPU_PIN(dipu_stream_create_args, 0, struct_size, size_t);
DIPU_PIN(dipu_stream_create_args, 8, device, int32_t);
DIPU_PIN(dipu_stream_create_args, 12, priority, int32_t);
DIPU_PIN_SIZE(dipu_stream_create_args, 16, DIPU_STREAM_API_VERSION);

DIPU_PIN(dipu_stream_api, 0, struct_size, size_t);
DIPU_PIN(dipu_stream_api, 8, version, uint32_t);
DIPU_PIN(dipu_stream_api, 12, reserved0, uint32_t);
DIPU_PIN(dipu_stream_api, 16, create,
         dipu_error* (*)(const dipu_stream_create_args*, dipu_stream**));
DIPU_PIN(dipu_stream_api, 24, destroy, void (*)(int32_t, dipu_stream*));
DIPU_PIN(dipu_stream_api, 32, get_default,
         dipu_error* (*)(int32_t, dipu_stream**));
DIPU_PIN(dipu_stream_api, 40, query, dipu_error* (*)(dipu_stream*, int32_t*));
DIPU_PIN(dipu_stream_api, 48, synchronize, dipu_error* (*)(dipu_stream*));
DIPU_PIN(dipu_stream_api, 56, wait_event,
         dipu_error* (*)(dipu_stream*, dipu_event*));
DIPU_PIN(dipu_stream_api, 64, get_priority_range,
         dipu_error* (*)(int32_t, int32_t*, int32_t*));
DIPU_PIN(dipu_stream_api, 72, launch_host_func,
         dipu_error* (*)(dipu_stream*, dipu_host_func, void*));
DIPU_PIN_SIZE(dipu_stream_api, 80, DIPU_STREAM_API_VERSION);

DIPU_PIN(dipu_event_api, 0, struct_size, size_t);
DIPU_PIN(dipu_event_api, 8, version, uint32_t);
DIPU_PIN(dipu_event_api, 12, reserved0, uint32_t);
DIPU_PIN(dipu_event_api, 16, create,
         dipu_error* (*)(int32_t, dipu_event_flags, dipu_event**));
DIPU_PIN(dipu_event_api, 24, destroy, void (*)(dipu_event*));
DIPU_PIN(dipu_event_api, 32, record,
         dipu_error* (*)(dipu_event*, dipu_stream*));
DIPU_PIN(dipu_event_api, 40, query, dipu_error* (*)(dipu_event*, int32_t*));
DIPU_PIN(dipu_event_api, 48, synchronize, dipu_error* (*)(dipu_event*));
DIPU_PIN(dipu_event_api, 56, elapsed,
         dipu_error* (*)(dipu_event*, dipu_event*, double*));
DIPU_PIN_SIZE(dipu_event_api, 64, DIPU_EVENT_API_VERSION);

DIPU_PIN(dipu_vendor, 0, struct_size, size_t);
DIPU_PIN(dipu_vendor, 8, abi_version, uint32_t);
DIPU_PIN(dipu_vendor, 12, flags, dipu_vendor_flags);
DIPU_PIN(dipu_vendor, 16, name, const char*);
DIPU_PIN(dipu_vendor, 24, display_name, const char*);
DIPU_PIN(dipu_vendor, 32, version, const char*);
DIPU_PIN(dipu_vendor, 40, sdk_version, const char*);
DIPU_PIN(dipu_vendor, 48, initialize,
         dipu_error* (*)(const dipu_host_services*));
DIPU_PIN(dipu_vendor, 56, device, const dipu_device_api*);
DIPU_PIN(dipu_vendor, 64, memory, const dipu_memory_api*);
DIPU_PIN(dipu_vendor, 72, stream, const dipu_stream_api*);
DIPU_PIN(dipu_vendor, 80, event, const dipu_event_api*);
DIPU_PIN(dipu_vendor, 88, operators, const dipu_operators_api*);
DIPU_PIN(dipu_vendor, 96, communicator, const dipu_communicator_api*);
DIPU_PIN(dipu_vendor, 104, graph, const dipu_graph_api*);
DIPU_PIN(dipu_vendor, 112, ipc, const dipu_ipc_api*);
DIPU_PIN(dipu_vendor, 120, virtual_memory, const dipu_virtual_memory_api*);
DIPU_PIN(dipu_vendor, 128, profiler, const dipu_profiler_api*);
DIPU_PIN(dipu_vendor, 136, generator, const dipu_generator_api*);
DIPU_PIN(dipu_vendor, 144, shutdown, void (*)(void));
DIPU_PIN_SIZE(dipu_vendor, 152, DIPU_ABI_VERSION);

/* clang-format on */

DIPU_PIN_VALUE(DIPU_OK, 0);
DIPU_PIN_VALUE(DIPU_CANCELLED, 1);
DIPU_PIN_VALUE(DIPU_UNKNOWN, 2);
DIPU_PIN_VALUE(DIPU_INVALID_ARGUMENT, 3);
DIPU_PIN_VALUE(DIPU_DEADLINE_EXCEEDED, 4);
DIPU_PIN_VALUE(DIPU_NOT_FOUND, 5);
DIPU_PIN_VALUE(DIPU_ALREADY_EXISTS, 6);
DIPU_PIN_VALUE(DIPU_PERMISSION_DENIED, 7);
DIPU_PIN_VALUE(DIPU_RESOURCE_EXHAUSTED, 8);
DIPU_PIN_VALUE(DIPU_FAILED_PRECONDITION, 9);
DIPU_PIN_VALUE(DIPU_ABORTED, 10);
DIPU_PIN_VALUE(DIPU_OUT_OF_RANGE, 11);
DIPU_PIN_VALUE(DIPU_UNIMPLEMENTED, 12);
DIPU_PIN_VALUE(DIPU_INTERNAL, 13);
DIPU_PIN_VALUE(DIPU_UNAVAILABLE, 14);
DIPU_PIN_VALUE(DIPU_DATA_LOSS, 15);
DIPU_PIN_VALUE(DIPU_UNAUTHENTICATED, 16);

DIPU_PIN_VALUE(DIPU_DTYPE_INT8, 0);
DIPU_PIN_VALUE(DIPU_DTYPE_UINT8, 1);
DIPU_PIN_VALUE(DIPU_DTYPE_INT16, 2);
DIPU_PIN_VALUE(DIPU_DTYPE_UINT16, 3);
DIPU_PIN_VALUE(DIPU_DTYPE_INT32, 4);
DIPU_PIN_VALUE(DIPU_DTYPE_UINT32, 5);
DIPU_PIN_VALUE(DIPU_DTYPE_INT64, 6);
DIPU_PIN_VALUE(DIPU_DTYPE_UINT64, 7);
DIPU_PIN_VALUE(DIPU_DTYPE_FLOAT16, 8);
DIPU_PIN_VALUE(DIPU_DTYPE_FLOAT32, 9);
DIPU_PIN_VALUE(DIPU_DTYPE_FLOAT64, 10);
DIPU_PIN_VALUE(DIPU_DTYPE_BOOL, 11);
DIPU_PIN_VALUE(DIPU_DTYPE_BFLOAT16, 12);
DIPU_PIN_VALUE(DIPU_DTYPE_COMPLEX32, 14);
DIPU_PIN_VALUE(DIPU_DTYPE_COMPLEX64, 15);
DIPU_PIN_VALUE(DIPU_DTYPE_COMPLEX128, 16);

DIPU_PIN_VALUE(DIPU_LOG_DEBUG, 0);
DIPU_PIN_VALUE(DIPU_LOG_INFO, 1);
DIPU_PIN_VALUE(DIPU_LOG_WARNING, 2);

DIPU_PIN_VALUE(DIPU_MEMORY_UNKNOWN, 0);
DIPU_PIN_VALUE(DIPU_MEMORY_DEVICE, 1);
DIPU_PIN_VALUE(DIPU_MEMORY_PINNED, 2);

DIPU_PIN_VALUE(DIPU_EVENT_TIMING, 1u);
DIPU_PIN_VALUE(DIPU_EVENT_BLOCKING_SYNC, 2u);
DIPU_PIN_VALUE(DIPU_EVENT_INTERPROCESS, 4u);

DIPU_PIN_VALUE(DIPU_VENDOR_SIMULATED, 1u);

DIPU_PIN_VALUE(DIPU_HOST, -1);
DIPU_PIN_VALUE(DIPU_MAX_DEVICE_COUNT, 1024);
DIPU_PIN_VALUE(DIPU_VERSION(1, 2), 0x10002u);
DIPU_PIN_VALUE(DIPU_VERSION_MAJOR(DIPU_ABI_VERSION), 1);
DIPU_PIN_VALUE(DIPU_VERSION_MAJOR(DIPU_DEVICE_API_VERSION), 1);
DIPU_PIN_VALUE(DIPU_VERSION_MAJOR(DIPU_MEMORY_API_VERSION), 1);
DIPU_PIN_VALUE(DIPU_VERSION_MAJOR(DIPU_STREAM_API_VERSION), 1);
DIPU_PIN_VALUE(DIPU_VERSION_MAJOR(DIPU_EVENT_API_VERSION), 1);

#undef DIPU_PIN
#undef DIPU_PIN_SIZE
#undef DIPU_PIN_VALUE

#endif /* DIPU_CORE_ABI_TESTS_LAYOUT_H_ */
