// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/core/fake_vendor.h"

#include <cstring>
#include <mutex>
#include <utility>

#include "core/plugin_kit/error.h"
#include "core/plugin_kit/guard.h"
#include "core/plugin_kit/table.h"
#include "tests/unit/core/fake_state.h"

namespace dipu::testing {

using plugin_kit::kGuarded;
using plugin_kit::makeError;

FakeState& state() {
  static auto* const instance = new FakeState;
  return *instance;
}

std::unique_lock<std::mutex> locked() {
  return std::unique_lock<std::mutex>(state().mutex);
}

std::size_t usedBytes(int device) {
  std::size_t used = 0;
  for (const auto& [ptr, entry] : state().memory) {
    if (entry.first == device) used += entry.second;
  }
  return used;
}

dipu_error* finish() {
  state().streams.finishAll();
  if (state().work_failure.empty()) return nullptr;
  const std::string text = std::exchange(state().work_failure, "");
  return makeError(DIPU_INTERNAL, 700, "%s", text.c_str());
}

namespace {

thread_local int t_device = 0;

// ------------------------------------------------------------- devices

dipu_error* initialize(const dipu_host_services* /*host*/) {
  const auto lock = locked();
  ++state().calls.initialize;
  const std::string& failure = state().initialize_failure;
  if (failure.empty()) return nullptr;
  return makeError(DIPU_UNAVAILABLE, 35, "%s", failure.c_str());
}

dipu_error* getCount(int32_t* out_count) {
  *out_count = kFakeDevices;
  return nullptr;
}

dipu_error* setCurrent(int32_t device) {
  const auto lock = locked();
  ++state().calls.set_current;
  t_device = device;
  return nullptr;
}

dipu_error* getCurrent(int32_t* out_device) {
  *out_device = t_device;
  return nullptr;
}

dipu_error* synchronizeDevice(int32_t /*device*/) {
  const auto lock = locked();
  ++state().calls.synchronize_device;
  return finish();
}

dipu_error* getProperties(int32_t device, dipu_device_properties* properties) {
  const auto lock = locked();
  std::strcpy(properties->name, "Fake 1");
  properties->total_memory = state().capacity[device];
  properties->major = 1;
  properties->supported_dtypes =
      uint64_t{1} << DIPU_DTYPE_FLOAT32 | uint64_t{1} << DIPU_DTYPE_INT64;
  return nullptr;
}

dipu_error* canAccessPeer(int32_t device, int32_t /*peer*/,
                          int32_t* out_accessible) {
  *out_accessible = device == 0 ? 1 : 0;
  return nullptr;
}

dipu_error* enablePeerAccess(int32_t /*device*/, int32_t /*peer*/) {
  const auto lock = locked();
  ++state().calls.enable_peer_access;
  return nullptr;
}

constexpr dipu_device_api makeDeviceApi() {
  auto api = plugin_kit::makeTable<dipu_device_api>(DIPU_DEVICE_API_VERSION);
  api.get_count = kGuarded<getCount>;
  api.set_current = kGuarded<setCurrent>;
  api.get_current = kGuarded<getCurrent>;
  api.synchronize = kGuarded<synchronizeDevice>;
  api.get_properties = kGuarded<getProperties>;
  api.can_access_peer = kGuarded<canAccessPeer>;
  api.enable_peer_access = kGuarded<enablePeerAccess>;
  return api;
}

// ------------------------------------------------------------- streams

dipu_error* createStream(const dipu_stream_create_args* args,
                         dipu_stream** out_stream) {
  const auto lock = locked();
  ++state().calls.create_stream;
  *out_stream = state().streams.create(args->device);
  return nullptr;
}

void destroyStream(int32_t /*device*/, dipu_stream* /*stream*/) {}

dipu_error* getDefaultStream(int32_t device, dipu_stream** out_stream) {
  const auto lock = locked();
  *out_stream = state().streams.defaultOf(device);
  return nullptr;
}

dipu_error* queryStream(dipu_stream* stream, int32_t* out_done) {
  const auto lock = locked();
  *out_done = state().streams.idle(stream) ? 1 : 0;
  return nullptr;
}

dipu_error* synchronizeStream(dipu_stream* /*stream*/) {
  const auto lock = locked();
  return finish();
}

dipu_error* waitEvent(dipu_stream* stream, dipu_event* event) {
  const auto lock = locked();
  state().streams.wait(stream, event);
  return nullptr;
}

dipu_error* getPriorityRange(int32_t /*device*/, int32_t* out_least,
                             int32_t* out_greatest) {
  *out_least = 0;
  *out_greatest = -2;
  return nullptr;
}

constexpr dipu_stream_api makeStreamApi() {
  auto api = plugin_kit::makeTable<dipu_stream_api>(DIPU_STREAM_API_VERSION);
  api.create = kGuarded<createStream>;
  api.destroy = kGuarded<destroyStream>;
  api.get_default = kGuarded<getDefaultStream>;
  api.query = kGuarded<queryStream>;
  api.synchronize = kGuarded<synchronizeStream>;
  api.wait_event = kGuarded<waitEvent>;
  api.get_priority_range = kGuarded<getPriorityRange>;
  return api;
}

// -------------------------------------------------------------- events

dipu_error* createEvent(int32_t /*device*/, dipu_event_flags flags,
                        dipu_event** out_event) {
  const auto lock = locked();
  ++state().calls.create_event;
  *out_event = state().streams.createEvent((flags & DIPU_EVENT_TIMING) != 0);
  return nullptr;
}

void destroyEvent(dipu_event* event) {
  const auto lock = locked();
  state().streams.destroyEvent(event);
}

dipu_error* recordEvent(dipu_event* event, dipu_stream* stream) {
  const auto lock = locked();
  ++state().calls.record_event;
  state().streams.record(event, stream);
  return nullptr;
}

dipu_error* queryEvent(dipu_event* event, int32_t* out_done) {
  const auto lock = locked();
  *out_done = state().streams.reached(event) ? 1 : 0;
  return nullptr;
}

dipu_error* synchronizeEvent(dipu_event* /*event*/) {
  const auto lock = locked();
  return finish();
}

dipu_error* elapsed(dipu_event* start, dipu_event* end, double* out_ms) {
  const auto lock = locked();
  if (!state().streams.timed(start) || !state().streams.timed(end)) {
    return makeError(DIPU_FAILED_PRECONDITION, 0, "no time was taken");
  }
  *out_ms = state().streams.timeOf(end) - state().streams.timeOf(start);
  return nullptr;
}

constexpr dipu_event_api makeEventApi() {
  auto api = plugin_kit::makeTable<dipu_event_api>(DIPU_EVENT_API_VERSION);
  api.create = kGuarded<createEvent>;
  api.destroy = kGuarded<destroyEvent>;
  api.record = kGuarded<recordEvent>;
  api.query = kGuarded<queryEvent>;
  api.synchronize = kGuarded<synchronizeEvent>;
  api.elapsed = kGuarded<elapsed>;
  return api;
}

void shutDown() {
  const auto lock = locked();
  ++state().calls.shutdown;
}

constexpr dipu_device_api kDeviceApi = makeDeviceApi();
constexpr dipu_stream_api kStreamApi = makeStreamApi();
constexpr dipu_event_api kEventApi = makeEventApi();

constexpr dipu_vendor makeVendor() {
  dipu_vendor vendor{};
  vendor.struct_size = sizeof(vendor);
  vendor.abi_version = DIPU_ABI_VERSION;
  vendor.flags = DIPU_VENDOR_SIMULATED;
  vendor.name = "fake";
  vendor.display_name = "Fake";
  vendor.version = "1.0";
  vendor.sdk_version = "";
  vendor.initialize = kGuarded<initialize>;
  vendor.device = &kDeviceApi;
  vendor.memory = &kFakeMemoryApi;
  vendor.stream = &kStreamApi;
  vendor.event = &kEventApi;
  vendor.shutdown = kGuarded<shutDown>;
  return vendor;
}

constexpr dipu_vendor kVendor = makeVendor();

}  // namespace

const dipu_vendor* fakeVendor() { return &kVendor; }

void holdStream(dipu_stream* stream) {
  const auto lock = locked();
  state().streams.hold(stream);
}

void letStreamGo(dipu_stream* stream) {
  const auto lock = locked();
  state().streams.letGo(stream);
}

void setCapacity(int device, std::size_t bytes) {
  const auto lock = locked();
  state().capacity[device] = bytes;
}

void failInitialize(const std::string& text) {
  const auto lock = locked();
  state().initialize_failure = text;
}

void failNextAllocate(dipu_status_code code) {
  const auto lock = locked();
  state().allocate_failure = code;
}

void onNextDeallocate(std::function<void()> action) {
  const auto lock = locked();
  state().on_deallocate = std::move(action);
}

void failEnqueuedWork(const std::string& text) {
  const auto lock = locked();
  state().work_failure = text;
}

Calls calls() {
  const auto lock = locked();
  return state().calls;
}

std::size_t liveBytes(int device) {
  const auto lock = locked();
  return usedBytes(device);
}

int sdkDevice() { return t_device; }

}  // namespace dipu::testing
