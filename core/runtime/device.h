// SPDX-License-Identifier: Apache-2.0
//
// Devices: how many there are and which one a thread works on.
//
// The current device is cached per thread and handed to the SDK when it
// changes. Code that changes the SDK's own current device behind our back must
// restore it.
#pragma once

#include <c10/core/Device.h>

#include "core/runtime/thread_state.h"
#include "core/runtime/vendor.h"

namespace dipu::runtime {

inline constexpr c10::DeviceType kDeviceType = c10::DeviceType::PrivateUse1;

// Devices beyond this number are left alone.
inline constexpr int kMaxDevices = 64;

// Usable devices. 0 without a vendor or when its SDK failed; see
// initializationError(). Counted once per process, creates no context, and in
// a forked child still tells the parent's number.
c10::DeviceIndex deviceCount() noexcept;

// True in a child that was forked after the vendor had been initialised: SDK
// state does not survive fork, so every call that needs it throws.
bool inBadFork() noexcept;

namespace detail {
c10::DeviceIndex initCurrentDevice();
}  // namespace detail

// Device of this thread, 0 unless set. A few instructions. Throws when there
// is no device.
inline c10::DeviceIndex currentDevice() {
  const c10::DeviceIndex device = detail::t_state.device;
  return __builtin_expect(device >= 0, 1) ? device
                                          : detail::initCurrentDevice();
}

// Makes `device` current for this thread and the SDK. Throws on an invalid
// index. Cheap when nothing changes.
void setDevice(c10::DeviceIndex device);

// As setDevice; returns the device that was current before.
c10::DeviceIndex exchangeDevice(c10::DeviceIndex device);

// `device`, or the current device for -1. Throws on any other invalid index.
c10::DeviceIndex resolveDevice(c10::DeviceIndex device);

// Throws c10::Error "invalid device index 5: dipu has 2 devices".
void checkDeviceIndex(c10::DeviceIndex device);

// Whether this process has used `device`: made it current or taken a stream,
// memory or event of it.
bool hasContext(c10::DeviceIndex device) noexcept;

// What the vendor tells about `device`; cached.
const dipu_device_properties& deviceProperties(c10::DeviceIndex device);

// Blocks until all streams of `device` are idle. Reports the failure of any
// work enqueued before.
void synchronizeDevice(c10::DeviceIndex device);

// Whether `device` may read memory of `peer` directly.
bool canAccessPeer(c10::DeviceIndex device, c10::DeviceIndex peer);

// As canAccessPeer, and lets `device` do so from now on. Asks the vendor once
// per pair. Both are valid indices.
bool enablePeerAccess(c10::DeviceIndex device, c10::DeviceIndex peer);

// Makes a device current for a scope. Costs a comparison when it already is.
class DeviceScope {
 public:
  explicit DeviceScope(c10::DeviceIndex device) : previous_(currentDevice()) {
    if (device == previous_) {
      previous_ = -1;
    } else {
      setDevice(device);
    }
  }
  ~DeviceScope() {
    if (__builtin_expect(previous_ >= 0, 0)) restore();
  }
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  void restore() noexcept;

  c10::DeviceIndex previous_;  // -1: nothing to restore
};

}  // namespace dipu::runtime
