/* SPDX-License-Identifier: Apache-2.0
 *
 * A complete small vendor in C11: one device, in ordinary memory, whose streams
 * run their work at once. Compiled against the header DIPU_VENDOR_API_H, that
 * of a released version or today's, and nothing else.
 */
#include <stdlib.h>
#include <string.h>

#include DIPU_VENDOR_API_H

/* dipu_stream and dipu_event stay opaque: numbered addresses. */
static char stream_handles[16];
static uint32_t stream_count = 1; /* the first is the default stream */

/* ------------------------------------------------------------- errors */

static void keep_error(dipu_error* self) { (void)self; }

#define FAILURE(name, code, text) \
  static dipu_error name = {sizeof(dipu_error), code, 0, 42, (text), keep_error}
FAILURE(bad_device, DIPU_INVALID_ARGUMENT, "this vendor has device 0 only");
FAILURE(no_memory, DIPU_RESOURCE_EXHAUSTED, "no memory is left");
FAILURE(no_stream, DIPU_RESOURCE_EXHAUSTED, "no stream is left");
FAILURE(no_such_event, DIPU_UNIMPLEMENTED, "no event has such flags");
FAILURE(no_timing, DIPU_FAILED_PRECONDITION, "no time was taken");

static dipu_error* check_device(int32_t device) {
  return device == 0 ? NULL : &bad_device;
}

/* ------------------------------------------------------------ devices */

static dipu_error* get_count(int32_t* out_count) {
  *out_count = 1;
  return NULL;
}

static dipu_error* set_current(int32_t device) { return check_device(device); }

static dipu_error* get_current(int32_t* out_device) {
  *out_device = 0;
  return NULL;
}

static dipu_error* synchronize_device(int32_t device) {
  return check_device(device);
}

/* Fills the caller's struct as far as both sides know it. */
static void give(const void* filled, size_t known, void* inout, size_t theirs) {
  const size_t head = sizeof(size_t);
  const size_t end = known < theirs ? known : theirs;
  if (end > head) {
    memcpy((char*)inout + head, (const char*)filled + head, end - head);
  }
}

static dipu_error* get_properties(int32_t device,
                                  dipu_device_properties* inout_properties) {
  const dipu_device_properties filled = {
      .name = "Frozen card", .total_memory = 1u << 30, .major = 1};
  if (device != 0) return &bad_device;
  give(&filled, sizeof(filled), inout_properties,
       inout_properties->struct_size);
  return NULL;
}

/* ------------------------------------------------------------- memory */

static dipu_error* host_allocate(size_t bytes, void** out_ptr) {
  void* block = aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (block == NULL) return &no_memory;
  *out_ptr = block;
  return NULL;
}

/* What was allocated last, which get_pointer_info knows alone. */
static void* last_block;
static size_t last_bytes;

static dipu_error* allocate(int32_t device, size_t bytes, void** out_ptr) {
  if (device != 0) return &bad_device;
  if (host_allocate(bytes, out_ptr) != NULL) return &no_memory;
  last_block = *out_ptr;
  last_bytes = bytes;
  return NULL;
}

static void deallocate(int32_t device, void* ptr) {
  (void)device;
  if (ptr == last_block) last_block = NULL;
  free(ptr);
}

static dipu_error* get_info(int32_t device, size_t* out_free,
                            size_t* out_total) {
  if (device != 0) return &bad_device;
  *out_free = 1u << 29;
  *out_total = 1u << 30;
  return NULL;
}

static dipu_error* copy(void* dst, int32_t dst_device, const void* src,
                        int32_t src_device, size_t bytes) {
  (void)dst_device;
  (void)src_device;
  memcpy(dst, src, bytes);
  return NULL;
}

static dipu_error* copy_async(void* dst, int32_t dst_device, const void* src,
                              int32_t src_device, size_t bytes,
                              dipu_stream* stream) {
  (void)stream;
  return copy(dst, dst_device, src, src_device, bytes);
}

static dipu_error* set_async(void* ptr, int32_t device, int32_t value,
                             size_t bytes, dipu_stream* stream) {
  (void)stream;
  if (device != 0) return &bad_device;
  memset(ptr, value, bytes);
  return NULL;
}

static dipu_error* get_pointer_info(const void* ptr,
                                    dipu_pointer_info* inout_info) {
  dipu_pointer_info filled = {.device = DIPU_HOST};
  if (ptr != NULL && ptr == last_block) {
    filled.kind = DIPU_MEMORY_DEVICE;
    filled.device = 0;
    filled.allocation = last_block;
    filled.bytes = last_bytes;
#if DIPU_CONTRACT_MINOR >= 1
    filled.host_pointer = last_block;
#endif
  }
  give(&filled, sizeof(filled), inout_info, inout_info->struct_size);
  return NULL;
}

/* ------------------------------------------------------------ streams */

static dipu_error* create_stream(const dipu_stream_create_args* args,
                                 dipu_stream** out_stream) {
  if (args->device != 0) return &bad_device;
  if (stream_count == sizeof(stream_handles)) return &no_stream;
  *out_stream = (dipu_stream*)&stream_handles[stream_count++];
  return NULL;
}

static void destroy_stream(int32_t device, dipu_stream* stream) {
  (void)device;
  (void)stream;
}

static dipu_error* get_default(int32_t device, dipu_stream** out_stream) {
  if (device != 0) return &bad_device;
  *out_stream = (dipu_stream*)&stream_handles[0];
  return NULL;
}

static dipu_error* query_stream(dipu_stream* stream, int32_t* out_done) {
  (void)stream;
  *out_done = 1;
  return NULL;
}

static dipu_error* synchronize_stream(dipu_stream* stream) {
  (void)stream;
  return NULL;
}

static dipu_error* wait_event(dipu_stream* stream, dipu_event* event) {
  (void)stream;
  (void)event;
  return NULL;
}

/* ------------------------------------------------------------- events */

/* What an event handle points to. */
typedef struct frozen_event {
  dipu_event_flags flags;
  double recorded_ms; /* counts records; 0 before the first */
} frozen_event;

static double clock_ms = 0;

static dipu_error* create_event(int32_t device, dipu_event_flags flags,
                                dipu_event** out_event) {
  if (device != 0) return &bad_device;
  if ((flags & ~(DIPU_EVENT_TIMING | DIPU_EVENT_BLOCKING_SYNC)) != 0) {
    return &no_such_event;
  }
  frozen_event* event = calloc(1, sizeof(*event));
  if (event == NULL) return &no_memory;
  event->flags = flags;
  *out_event = (dipu_event*)event;
  return NULL;
}

static void destroy_event(dipu_event* event) { free(event); }

static dipu_error* record(dipu_event* event, dipu_stream* stream) {
  (void)stream;
  ((frozen_event*)event)->recorded_ms = ++clock_ms;
  return NULL;
}

static dipu_error* query_event(dipu_event* event, int32_t* out_done) {
  (void)event;
  *out_done = 1;
  return NULL;
}

static dipu_error* synchronize_event(dipu_event* event) {
  (void)event;
  return NULL;
}

static dipu_error* elapsed(dipu_event* start, dipu_event* end, double* out_ms) {
  const frozen_event* first = (const frozen_event*)start;
  const frozen_event* last = (const frozen_event*)end;
  if ((first->flags & last->flags & DIPU_EVENT_TIMING) == 0) return &no_timing;
  *out_ms = last->recorded_ms - first->recorded_ms;
  return NULL;
}

/* -------------------------------------------------------------- vendor */

static dipu_error* initialize(const dipu_host_services* host) {
  if (DIPU_HAS(host, log)) host->log(DIPU_LOG_DEBUG, "the frozen card is here");
  return NULL;
}

static const dipu_device_api device_api = {
    .struct_size = sizeof(dipu_device_api),
    .version = DIPU_DEVICE_API_VERSION,
    .get_count = get_count,
    .set_current = set_current,
    .get_current = get_current,
    .synchronize = synchronize_device,
    .get_properties = get_properties,
};

static const dipu_memory_api memory_api = {
    .struct_size = sizeof(dipu_memory_api),
    .version = DIPU_MEMORY_API_VERSION,
    .allocate = allocate,
    .deallocate = deallocate,
    .get_info = get_info,
    .host_allocate = host_allocate,
    .host_deallocate = free,
    .copy = copy,
    .copy_async = copy_async,
    .set_async = set_async,
    .get_pointer_info = get_pointer_info,
};

static const dipu_stream_api stream_api = {
    .struct_size = sizeof(dipu_stream_api),
    .version = DIPU_STREAM_API_VERSION,
    .create = create_stream,
    .destroy = destroy_stream,
    .get_default = get_default,
    .query = query_stream,
    .synchronize = synchronize_stream,
    .wait_event = wait_event,
};

static const dipu_event_api event_api = {
    .struct_size = sizeof(dipu_event_api),
    .version = DIPU_EVENT_API_VERSION,
    .create = create_event,
    .destroy = destroy_event,
    .record = record,
    .query = query_event,
    .synchronize = synchronize_event,
    .elapsed = elapsed,
};

static const dipu_vendor vendor = {
    .struct_size = sizeof(dipu_vendor),
    .abi_version = DIPU_ABI_VERSION,
    .flags = DIPU_VENDOR_SIMULATED,
    .name = "frozen",
    .display_name = "Frozen",
    .version = "1",
    .sdk_version = "",
    .initialize = initialize,
    .device = &device_api,
    .memory = &memory_api,
    .stream = &stream_api,
    .event = &event_api,
};

/* Another name where plugin.c is a part of something larger. */
#ifndef DIPU_PLUGIN_QUERY
#define DIPU_PLUGIN_QUERY dipu_vendor_query
#endif
DIPU_VENDOR_EXPORT const dipu_vendor* DIPU_PLUGIN_QUERY(uint32_t);

const dipu_vendor* DIPU_PLUGIN_QUERY(uint32_t max_abi_version) {
  return DIPU_VERSION_MAJOR(max_abi_version) == 1 ? &vendor : NULL;
}
