// SPDX-License-Identifier: Apache-2.0
//
// The vendor of this process: which library serves the device "dipu".
//
// There is at most one. Loading it opens the library and validates its tables
// but does not touch the SDK; the vendor's `initialize` runs once, when a
// device is first needed. Without a vendor, or when `initialize` failed, there
// are no devices and every function that needs one throws a c10::Error that
// says why.
//
// All functions may be called from any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <string>

#include "core/abi/vendor_api.h"
#include "core/loader/loader.h"

namespace dipu::runtime {

// Opens the vendor library at `plugin_path`. Throws the loader's text when it
// cannot serve, and a c10::Error when another vendor is loaded already; the
// same path again does nothing. Blocks.
void loadVendor(const std::string& plugin_path);

// Serves the process from a vendor that is linked into the program. `vendor`
// lives as long as the process; `origin` stands for the path in messages.
// Checks and throws as loadVendor does.
void adoptVendor(const dipu_vendor* vendor, const std::string& origin);

// Why no vendor is loaded, for the errors of those who use a device all the
// same. Ignored once a vendor is loaded.
void explainMissingVendor(std::string reason);

// Whether a vendor is loaded. Does not initialise it.
bool isLoaded() noexcept;

// The loaded library, for its path and optional tables. Throws when there is
// none. Call ensureInitialized before calling into its tables.
const loader::Library& vendorLibrary();

// The loaded vendor's table. Throws when there is none.
inline const dipu_vendor& vendor() { return vendorLibrary().vendor(); }

// Initialises the vendor on the first call. Returns false, and keeps the
// reason, when there is no vendor, when it has no usable SDK, in a forked child
// (see inBadFork in device.h), or inside the vendor's own `initialize`. The
// vendor is asked once: after a failure the process stays without devices.
// Blocks during the first call.
bool tryInitialize() noexcept;

// As tryInitialize, but throws the reason.
void ensureInitialized();

// Ends the use of devices when the process ends: waits for the devices in use,
// then calls the vendor's `shutdown`. Later calls throw, and memory, events and
// streams that are still held are left to the operating system. Call it once no
// other thread uses a device. Never throws.
//
// Work that is not done after `limit`, such as that of a hung device, is given
// up with a warning; the vendor's `shutdown` is then left out. A `shutdown`
// that has not returned after `limit` is given up in the same way.
void shutdown(
    std::chrono::milliseconds limit = std::chrono::seconds(10)) noexcept;

// Why there are no devices; "" as long as nothing has failed.
std::string initializationError();

// "droplet:0" for messages; the vendor's name alone when `device` is the host.
std::string deviceLabel(int32_t device);

namespace detail {

// The required tables of an initialised vendor.
struct Tables {
  const dipu_device_api* device;
  const dipu_memory_api* memory;
  const dipu_stream_api* stream;
  const dipu_event_api* event;
};

// Null before the vendor is initialised, after shutdown and in a forked child,
// so that one comparison covers every reason not to call the vendor.
extern std::atomic<const Tables*> g_tables;

// Initialises, or throws why it cannot.
const Tables& initializedTables();

inline const Tables& tables() {
  const Tables* tables = g_tables.load(std::memory_order_acquire);
  return __builtin_expect(tables != nullptr, 1) ? *tables : initializedTables();
}

}  // namespace detail

// Whether the vendor may be called: it has been initialised, and this is
// neither a forked child nor a process that is ending. Never initialises it.
inline bool isInitialized() noexcept {
  return detail::g_tables.load(std::memory_order_relaxed) != nullptr;
}

// The required tables of the initialised vendor. Each initialises the vendor
// when nothing has done so yet and throws when there is none.
inline const dipu_device_api& deviceApi() { return *detail::tables().device; }
inline const dipu_memory_api& memoryApi() { return *detail::tables().memory; }
inline const dipu_stream_api& streamApi() { return *detail::tables().stream; }
inline const dipu_event_api& eventApi() { return *detail::tables().event; }

}  // namespace dipu::runtime
