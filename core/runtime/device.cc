// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/device.h"

#include <c10/util/Exception.h>

#include <array>
#include <atomic>
#include <mutex>

#include "core/loader/text.h"
#include "core/observe/observer.h"
#include "core/runtime/error.h"
#include "core/runtime/vendor_state.h"
#include "core/vendor_call/call.h"

namespace dipu::runtime {
namespace {

using vendor_call::call;

std::array<std::atomic<bool>, kMaxDevices> g_used{};

// Properties by device, filled when first asked for.
struct Properties {
  std::once_flag once;
  dipu_device_properties value;
};

Properties& propertiesOf(c10::DeviceIndex device) {
  static auto* const all = new std::array<Properties, kMaxDevices>;
  return (*all)[device];
}

void makeCurrent(c10::DeviceIndex device) {
  check(call("device.set_current", deviceApi().set_current, device), device);
  detail::markUsed(device);
  detail::t_state.device = device;
}

}  // namespace

namespace detail {

constinit thread_local ThreadState t_state
    __attribute__((tls_model("initial-exec"))) = {-1, nullptr};

void markUsed(c10::DeviceIndex device) noexcept {
  g_used[device].store(true, std::memory_order_relaxed);
}

c10::DeviceIndex initCurrentDevice() {
  // An application may have chosen a device through the SDK before.
  int32_t device = 0;
  check(call("device.get_current", deviceApi().get_current, &device));
  makeCurrent(device >= 0 && device < countedDevices()
                  ? static_cast<c10::DeviceIndex>(device)
                  : c10::DeviceIndex{0});
  return t_state.device;
}

}  // namespace detail

void checkDeviceIndex(c10::DeviceIndex device) {
  ensureInitialized();
  const int count = detail::countedDevices();
  TORCH_CHECK(device >= 0 && device < count, "invalid device index ",
              static_cast<int>(device), ": dipu has ", count,
              count == 1 ? " device" : " devices");
}

void setDevice(c10::DeviceIndex device) {
  if (device == detail::t_state.device && device >= 0) return;
  checkDeviceIndex(device);
  makeCurrent(device);
}

c10::DeviceIndex exchangeDevice(c10::DeviceIndex device) {
  const c10::DeviceIndex previous = currentDevice();
  setDevice(device);
  return previous;
}

c10::DeviceIndex resolveDevice(c10::DeviceIndex device) {
  if (device == -1) return currentDevice();
  checkDeviceIndex(device);
  return device;
}

bool hasContext(c10::DeviceIndex device) noexcept {
  return device >= 0 && device < detail::countedDevices() && !inBadFork() &&
         g_used[device].load(std::memory_order_relaxed);
}

const dipu_device_properties& deviceProperties(c10::DeviceIndex device) {
  checkDeviceIndex(device);
  Properties& properties = propertiesOf(device);
  std::call_once(properties.once, [&] {
    dipu_device_properties value{};
    value.struct_size = sizeof(value);
    check(call("device.get_properties", deviceApi().get_properties, device,
               &value),
          device);
    loader::makeSafe(value.name, sizeof(value.name));
    loader::makeSafe(value.pci_bus_id, sizeof(value.pci_bus_id));
    properties.value = value;
  });
  return properties.value;
}

void synchronizeDevice(c10::DeviceIndex device) {
  checkDeviceIndex(device);
  check(call("device.synchronize", deviceApi().synchronize, device), device);
  if (auto* observer = observe::observer()) observer->onDeviceDone(device);
}

bool canAccessPeer(c10::DeviceIndex device, c10::DeviceIndex peer) {
  checkDeviceIndex(device);
  checkDeviceIndex(peer);
  const dipu_device_api& api = deviceApi();
  if (!DIPU_HAS(&api, can_access_peer)) return false;
  int32_t accessible = 0;
  check(call("device.can_access_peer", api.can_access_peer, device, peer,
             &accessible),
        device);
  return accessible != 0;
}

bool enablePeerAccess(c10::DeviceIndex device, c10::DeviceIndex peer) {
  enum : char { kUnknown, kNo, kYes };
  static auto* const known =
      new std::array<std::atomic<char>, kMaxDevices * kMaxDevices>{};
  std::atomic<char>& entry = (*known)[device * kMaxDevices + peer];
  // Two threads may both ask; enabling twice is a success.
  if (entry.load(std::memory_order_relaxed) == kUnknown) {
    const bool accessible = canAccessPeer(device, peer);
    const dipu_device_api& api = deviceApi();
    if (accessible && DIPU_HAS(&api, enable_peer_access)) {
      check(call("device.enable_peer_access", api.enable_peer_access, device,
                 peer),
            device);
    }
    entry.store(accessible ? kYes : kNo, std::memory_order_relaxed);
  }
  return entry.load(std::memory_order_relaxed) == kYes;
}

void DeviceScope::restore() noexcept {
  // The index was current before, so it is valid; a lost device is reported by
  // the next call that uses it.
  if (succeeded(call("device.set_current", deviceApi().set_current, previous_),
                "restoring the device")) {
    detail::t_state.device = previous_;
  }
}

}  // namespace dipu::runtime
