// SPDX-License-Identifier: Apache-2.0
#include <climits>
#include <cstdio>

#include "vendors/droplet/tang/status.h"
#include "vendors/droplet/tang/tang_block.h"
#include "vendors/droplet/tang/tang_runtime.h"

using dipu::tang::check;
using dipu::tang::currentDevice;
using dipu::tang::fail;
using dipu::tang::requireOutput;
using tang::detail::kMaxSharedBytes;
using tang::detail::kMaxThreadsPerBlock;

static_assert(sizeof(tangDeviceProp) == 540, "as on a card");

namespace {

thread_local int current_device = 0;

// Major and minor of the imitated runtime: 0.13.
constexpr int kVersion = 130;

tangError_t getVersion(const char* function, int* out_version) {
  if (tangError_t error = requireOutput(function, out_version)) return error;
  *out_version = kVersion;
  return tangSuccess;
}

constexpr int kWarpSize = 32;
constexpr int kMajor = 1;
constexpr int kBusIdBytes = sizeof("0000:00:00.0");

// Bus 0 is where the host's own devices are.
int busOf(int device) { return (device + 1) & 0xff; }

}  // namespace

int dipu::tang::currentDevice() { return current_device; }

tangError_t dipu::tang::requireProcess() {
  int32_t count = 0;
  return check(soft_device_count(&count));
}

tangError_t tangGetDeviceCount(int* count) {
  if (tangError_t error = requireOutput("tangGetDeviceCount", count)) {
    return error;
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
  if (tangError_t error = requireOutput("tangGetDevice", deviceId)) {
    return error;
  }
  *deviceId = current_device;
  return tangSuccess;
}

tangError_t tangDeviceSynchronize(void) {
  const int device = currentDevice();
  if (tangError_t error = check(soft_device_synchronize(device))) return error;
  return dipu::tang::releaseKeptMemory(device);
}

tangError_t tangDeviceReset(void) {
  const int device = currentDevice();
  if (tangError_t error = check(soft_device_reset(device))) return error;
  dipu::tang::forgetKeptMemory(device);
  dipu::tang::forgetOpenedMemory(device);
  return tangSuccess;
}

tangError_t tangDeviceGetAttribute(int* value, tangDeviceAttr attr,
                                   int deviceId) {
  if (tangError_t error = requireOutput("tangDeviceGetAttribute", value)) {
    return error;
  }
  soft_device_info info;
  if (tangError_t error = check(soft_device_get_info(deviceId, &info))) {
    return error;
  }
  switch (static_cast<int>(attr)) {
    case tangDevAttrWarpSize:
      *value = kWarpSize;
      return tangSuccess;
    case tangDevAttrMaxThreadsPerBlock:
      *value = kMaxThreadsPerBlock;
      return tangSuccess;
    case tangDevAttrMultiProcessorCount:
      *value = info.worker_threads;
      return tangSuccess;
    case tangDevAttrComputeCapabilityMajor:
      *value = kMajor;
      return tangSuccess;
    case tangDevAttrMemoryPoolsSupported:
      *value = 1;
      return tangSuccess;
    default:
      return fail(tangErrorInvalidValue,
                  "tangDeviceGetAttribute: attribute %d is unknown",
                  static_cast<int>(attr));
  }
}

tangError_t tangGetDeviceProperties(tangDeviceProp* props, int deviceId) {
  if (tangError_t error = requireOutput("tangGetDeviceProperties", props)) {
    return error;
  }
  soft_device_info info;
  if (tangError_t error = check(soft_device_get_info(deviceId, &info))) {
    return error;
  }
  constexpr int kMost = kMaxThreadsPerBlock;
  tangDeviceProp filled{};
  std::snprintf(filled.name, sizeof(filled.name), "%s", info.name);
  filled.totalGlobalMem = info.total_memory;
  filled.sharedMemPerBlock = kMaxSharedBytes;
  filled.warpSize = kWarpSize;
  filled.maxThreadsPerBlock = kMost;
  for (int i = 0; i < 3; ++i) {
    filled.maxThreadsDim[i] = kMost;
    filled.maxGridSize[i] = i == 0 ? INT_MAX : 65535;
  }
  filled.major = kMajor;
  filled.multiProcessorCount = info.worker_threads;
  filled.pciBusID = busOf(deviceId);
  *props = filled;
  return tangSuccess;
}

tangError_t tangDeviceGetPCIBusId(char* pciBusId, int len, int deviceId) {
  if (tangError_t error = requireOutput("tangDeviceGetPCIBusId", pciBusId)) {
    return error;
  }
  soft_device_info info;
  if (tangError_t error = check(soft_device_get_info(deviceId, &info))) {
    return error;
  }
  if (len < kBusIdBytes) {
    return fail(tangErrorInvalidValue,
                "tangDeviceGetPCIBusId: %d bytes; it needs %d", len,
                kBusIdBytes);
  }
  std::snprintf(pciBusId, kBusIdBytes, "0000:%02x:00.0", busOf(deviceId));
  return tangSuccess;
}

tangError_t tangDeviceGetStreamPriorityRange(int* leastPriority,
                                             int* greatestPriority) {
  if (tangError_t error = dipu::tang::requireProcess()) return error;
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
  if (tangError_t error =
          requireOutput("tangDeviceCanAccessPeer", canAccessPeer)) {
    return error;
  }
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
