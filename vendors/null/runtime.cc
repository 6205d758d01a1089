// SPDX-License-Identifier: Apache-2.0
//
// The required tables, for a vendor without devices. Replace the bodies by
// calls of your SDK, one slot at a time; core/abi/runtime.h says what each must
// do. vendors/droplet/runtime.cc is the same file for an SDK that exists.
#include "vendors/null/runtime.h"

#include <cstddef>
#include <cstdint>

#include "core/plugin_kit/error.h"
#include "core/plugin_kit/guard.h"
#include "core/plugin_kit/table.h"

namespace dipu::vendors::null {
namespace {

using plugin_kit::kGuarded;
using plugin_kit::makeError;
using plugin_kit::makeTable;

dipu_error* noDevice(const char* call, int32_t device) {
  return makeError(DIPU_UNAVAILABLE, 0,
                   "%s of device %d failed: this vendor has no devices; set "
                   "DIPU_DEVICE to one that has",
                   call, device);
}

// Devices.

dipu_error* getCount(int32_t* out_count) {
  *out_count = 0;
  return nullptr;
}

dipu_error* setCurrent(int32_t device) {
  return noDevice("set_current", device);
}

dipu_error* getCurrent(int32_t*) { return noDevice("get_current", DIPU_HOST); }

dipu_error* synchronizeDevice(int32_t device) {
  return noDevice("synchronize", device);
}

dipu_error* getProperties(int32_t device, dipu_device_properties*) {
  return noDevice("get_properties", device);
}

// Memory.

dipu_error* allocate(int32_t device, size_t, void**) {
  return noDevice("allocate", device);
}

// Release functions accept NULL and have nothing to report.
void deallocate(int32_t, void*) {}

dipu_error* getMemoryInfo(int32_t device, size_t*, size_t*) {
  return noDevice("get_info", device);
}

dipu_error* hostAllocate(size_t, void**) {
  return noDevice("host_allocate", DIPU_HOST);
}

void hostDeallocate(void*) {}

dipu_error* copy(void*, int32_t dst_device, const void*, int32_t, size_t) {
  return noDevice("copy", dst_device);
}

dipu_error* copyAsync(void*, int32_t dst_device, const void*, int32_t, size_t,
                      dipu_stream*) {
  return noDevice("copy_async", dst_device);
}

dipu_error* setAsync(void*, int32_t device, int32_t, size_t, dipu_stream*) {
  return noDevice("set_async", device);
}

// Streams.

dipu_error* createStream(const dipu_stream_create_args* args, dipu_stream**) {
  return noDevice("create_stream", args->device);
}

void destroyStream(int32_t, dipu_stream*) {}

dipu_error* getDefaultStream(int32_t device, dipu_stream**) {
  return noDevice("get_default", device);
}

dipu_error* queryStream(dipu_stream*, int32_t*) {
  return noDevice("query_stream", DIPU_HOST);
}

dipu_error* synchronizeStream(dipu_stream*) {
  return noDevice("synchronize_stream", DIPU_HOST);
}

dipu_error* waitEvent(dipu_stream*, dipu_event*) {
  return noDevice("wait_event", DIPU_HOST);
}

// Events.

dipu_error* createEvent(int32_t device, dipu_event_flags, dipu_event**) {
  return noDevice("create_event", device);
}

void destroyEvent(dipu_event*) {}

dipu_error* recordEvent(dipu_event*, dipu_stream*) {
  return noDevice("record_event", DIPU_HOST);
}

dipu_error* queryEvent(dipu_event*, int32_t*) {
  return noDevice("query_event", DIPU_HOST);
}

dipu_error* synchronizeEvent(dipu_event*) {
  return noDevice("synchronize_event", DIPU_HOST);
}

dipu_error* elapsed(dipu_event*, dipu_event*, double*) {
  return noDevice("elapsed", DIPU_HOST);
}

constexpr dipu_device_api makeDeviceApi() {
  auto api = makeTable<dipu_device_api>(DIPU_DEVICE_API_VERSION);
  api.get_count = kGuarded<getCount>;
  api.set_current = kGuarded<setCurrent>;
  api.get_current = kGuarded<getCurrent>;
  api.synchronize = kGuarded<synchronizeDevice>;
  api.get_properties = kGuarded<getProperties>;
  return api;
}

constexpr dipu_memory_api makeMemoryApi() {
  auto api = makeTable<dipu_memory_api>(DIPU_MEMORY_API_VERSION);
  api.allocate = kGuarded<allocate>;
  api.deallocate = kGuarded<deallocate>;
  api.get_info = kGuarded<getMemoryInfo>;
  api.host_allocate = kGuarded<hostAllocate>;
  api.host_deallocate = kGuarded<hostDeallocate>;
  api.copy = kGuarded<copy>;
  api.copy_async = kGuarded<copyAsync>;
  api.set_async = kGuarded<setAsync>;
  return api;
}

constexpr dipu_stream_api makeStreamApi() {
  auto api = makeTable<dipu_stream_api>(DIPU_STREAM_API_VERSION);
  api.create = kGuarded<createStream>;
  api.destroy = kGuarded<destroyStream>;
  api.get_default = kGuarded<getDefaultStream>;
  api.query = kGuarded<queryStream>;
  api.synchronize = kGuarded<synchronizeStream>;
  api.wait_event = kGuarded<waitEvent>;
  return api;
}

constexpr dipu_event_api makeEventApi() {
  auto api = makeTable<dipu_event_api>(DIPU_EVENT_API_VERSION);
  api.create = kGuarded<createEvent>;
  api.destroy = kGuarded<destroyEvent>;
  api.record = kGuarded<recordEvent>;
  api.query = kGuarded<queryEvent>;
  api.synchronize = kGuarded<synchronizeEvent>;
  api.elapsed = kGuarded<elapsed>;
  return api;
}

}  // namespace

constexpr dipu_device_api kDeviceApi = makeDeviceApi();
constexpr dipu_memory_api kMemoryApi = makeMemoryApi();
constexpr dipu_stream_api kStreamApi = makeStreamApi();
constexpr dipu_event_api kEventApi = makeEventApi();

}  // namespace dipu::vendors::null
