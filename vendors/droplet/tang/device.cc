// SPDX-License-Identifier: Apache-2.0
#include "vendors/droplet/tang/status.h"
#include "vendors/droplet/tang/tang_runtime.h"

using dipu::tang::check;
using dipu::tang::currentDevice;
using dipu::tang::fail;

namespace {

thread_local int current_device = 0;

// Major and minor of the imitated runtime: 0.13.
constexpr int kVersion = 130;

tangError_t getVersion(const char* function, int* out_version) {
  if (out_version == nullptr) {
    return fail(tangErrorInvalidValue, "%s: the output is NULL", function);
  }
  *out_version = kVersion;
  return tangSuccess;
}

}  // namespace

int dipu::tang::currentDevice() { return current_device; }

tangError_t tangGetDeviceCount(int* count) {
  if (count == nullptr) {
    return fail(tangErrorInvalidValue, "tangGetDeviceCount: count is NULL");
  }
  int32_t devices = 0;
  if (tangError_t error = check(soft_device_count(&devices))) return error;
  *count = devices;
  if (devices > 0) return tangSuccess;
  return fail(tangErrorNoDevice, "SOFTDEVICE_COUNT is 0");
}

tangError_t tangSetDevice(int deviceId) {
  soft_device_info info;
  if (tangError_t error = check(soft_device_get_info(deviceId, &info))) {
    return error;
  }
  current_device = deviceId;
  return tangSuccess;
}

tangError_t tangGetDevice(int* deviceId) {
  if (deviceId == nullptr) {
    return fail(tangErrorInvalidValue, "tangGetDevice: deviceId is NULL");
  }
  *deviceId = current_device;
  return tangSuccess;
}

tangError_t tangDeviceSynchronize(void) {
  return check(soft_device_synchronize(currentDevice()));
}

tangError_t tangDeviceReset(void) {
  return check(soft_device_reset(currentDevice()));
}

tangError_t tangDeviceGetAttribute(int* value, tangDeviceAttr attr,
                                   int deviceId) {
  if (value == nullptr) {
    return fail(tangErrorInvalidValue, "tangDeviceGetAttribute: value is NULL");
  }
  soft_device_info info;
  if (tangError_t error = check(soft_device_get_info(deviceId, &info))) {
    return error;
  }
  switch (static_cast<int>(attr)) {
    case tangDevAttrWarpSize:
      *value = 32;
      return tangSuccess;
    case tangDevAttrMaxThreadsPerBlock:
      *value = 1024;
      return tangSuccess;
    case tangDevAttrMultiProcessorCount:
      *value = info.worker_threads;
      return tangSuccess;
    case tangDevAttrComputeCapabilityMajor:
      *value = 1;
      return tangSuccess;
    case tangDevAttrMemoryPoolsSupported:
      *value = 0;
      return tangSuccess;
    default:
      return fail(tangErrorInvalidValue,
                  "tangDeviceGetAttribute: attribute %d is unknown",
                  static_cast<int>(attr));
  }
}

tangError_t tangDeviceGetStreamPriorityRange(int* leastPriority,
                                             int* greatestPriority) {
  if (leastPriority != nullptr) *leastPriority = SOFT_PRIORITY_LEAST;
  if (greatestPriority != nullptr) *greatestPriority = SOFT_PRIORITY_GREATEST;
  return tangSuccess;
}

tangError_t tangRuntimeGetVersion(int* runtimeVersion) {
  return getVersion("tangRuntimeGetVersion", runtimeVersion);
}

tangError_t tangDriverGetVersion(int* driverVersion) {
  return getVersion("tangDriverGetVersion", driverVersion);
}

tangError_t tangDeviceCanAccessPeer(int* canAccessPeer, int device,
                                    int peerDevice) {
  return check(soft_device_can_access_peer(device, peerDevice, canAccessPeer));
}

tangError_t tangDeviceEnablePeerAccess(int peerDevice, unsigned int flags) {
  if (flags != 0) {
    return fail(tangErrorInvalidValue,
                "tangDeviceEnablePeerAccess: flags must be 0, not %u", flags);
  }
  int32_t enabled = 0;
  if (tangError_t error = check(
          soft_device_get_peer_access(currentDevice(), peerDevice, &enabled))) {
    return error;
  }
  if (enabled != 0) {
    return fail(tangErrorPeerAccessAlreadyEnabled, "from device %d to %d",
                currentDevice(), peerDevice);
  }
  return check(soft_device_enable_peer_access(currentDevice(), peerDevice));
}

tangError_t tangDeviceDisablePeerAccess(int peerDevice) {
  int32_t enabled = 0;
  if (tangError_t error = check(
          soft_device_get_peer_access(currentDevice(), peerDevice, &enabled))) {
    return error;
  }
  if (enabled == 0) {
    return fail(tangErrorPeerAccessNotEnabled, "from device %d to %d",
                currentDevice(), peerDevice);
  }
  return check(soft_device_disable_peer_access(currentDevice(), peerDevice));
}
