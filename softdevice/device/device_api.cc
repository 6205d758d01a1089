// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "softdevice/base/status.h"
#include "softdevice/debug/trace.h"
#include "softdevice/device/device.h"
#include "softdevice/graph/capture.h"
#include "softdevice/softdevice.h"

using dipu::softdevice::checkMayBlock;
using dipu::softdevice::checkNotCaptured;
using dipu::softdevice::checkProcess;
using dipu::softdevice::checkUnsafe;
using dipu::softdevice::config;
using dipu::softdevice::Device;
using dipu::softdevice::fail;
using dipu::softdevice::findDevice;
using dipu::softdevice::traced;

namespace {

// Checks both indices without creating a device for `peer`.
soft_status findPair(const char* function, int32_t device, int32_t peer,
                     Device** out_device) {
  if (soft_status status = findDevice(function, device, out_device)) {
    return status;
  }
  if (peer < 0 || peer >= config().device_count || peer == device) {
    return fail(SOFT_INVALID_DEVICE,
                "%s: device %d cannot be a peer of device %d; there are %d",
                function, peer, device, config().device_count);
  }
  return SOFT_OK;
}

soft_status setPeerAccess(const char* function, int32_t device, int32_t peer,
                          bool enabled) {
  Device* owner = nullptr;
  if (soft_status status = findPair(function, device, peer, &owner)) {
    return status;
  }
  owner->setAccess(peer, enabled);
  return SOFT_OK;
}

}  // namespace

soft_status soft_device_count(int32_t* out_count) {
  if (soft_status status = checkProcess("soft_device_count")) return status;
  if (out_count == nullptr) {
    return fail(SOFT_INVALID_VALUE, "soft_device_count: out_count is NULL");
  }
  if (!config().error.empty()) {
    return fail(SOFT_INVALID_VALUE, "%s", config().error.c_str());
  }
  *out_count = config().device_count;
  return SOFT_OK;
}

soft_status soft_device_get_info(int32_t device, soft_device_info* out_info) {
  int32_t count = 0;
  if (soft_status status = soft_device_count(&count)) return status;
  if (device < 0 || device >= count) {
    return fail(SOFT_INVALID_DEVICE,
                "soft_device_get_info: there is no device %d; this process has "
                "%d (SOFTDEVICE_COUNT)",
                device, count);
  }
  if (out_info == nullptr) {
    return fail(SOFT_INVALID_VALUE, "soft_device_get_info: out_info is NULL");
  }
  *out_info = soft_device_info{};
  std::snprintf(out_info->name, sizeof(out_info->name), "softdevice");
  out_info->total_memory = config().device_memory;
  out_info->worker_threads = config().team_threads;
  return SOFT_OK;
}

soft_status soft_device_synchronize(int32_t device) {
  Device* owner = nullptr;
  if (soft_status status = checkMayBlock("soft_device_synchronize")) {
    return status;
  }
  soft_status status = findDevice("soft_device_synchronize", device, &owner);
  // What was enqueued before the loss still runs.
  if (status != SOFT_OK && status != SOFT_DEVICE_LOST) return status;
  status = checkNotCaptured("soft_device_synchronize", *owner);
  if (status == SOFT_OK) status = checkUnsafe("soft_device_synchronize");
  if (status != SOFT_OK) return status;
  return traced({SOFT_TRACE_SYNCHRONIZE, device}, [&] {
    owner->drain();
    return owner->error();
  });
}

soft_status soft_device_reset(int32_t device) {
  Device* owner = nullptr;
  if (soft_status status = checkMayBlock("soft_device_reset")) return status;
  if (soft_status status = findDevice("soft_device_reset", device, &owner)) {
    return status;
  }
  dipu::softdevice::abandonCaptures(*owner);
  owner->reset();
  return SOFT_OK;
}

soft_status soft_device_get_error(int32_t device) {
  Device* owner = nullptr;
  if (soft_status status =
          findDevice("soft_device_get_error", device, &owner)) {
    return status;
  }
  return owner->error();
}

soft_status soft_device_can_access_peer(int32_t device, int32_t peer,
                                        int32_t* out_accessible) {
  int32_t count = 0;
  if (soft_status status = soft_device_count(&count)) return status;
  if (device < 0 || device >= count || peer < 0 || peer >= count) {
    return fail(SOFT_INVALID_DEVICE,
                "soft_device_can_access_peer: devices %d and %d, but there "
                "are %d",
                device, peer, count);
  }
  if (out_accessible == nullptr) {
    return fail(SOFT_INVALID_VALUE,
                "soft_device_can_access_peer: out_accessible is NULL");
  }
  *out_accessible = device != peer ? 1 : 0;
  return SOFT_OK;
}

soft_status soft_device_enable_peer_access(int32_t device, int32_t peer) {
  return setPeerAccess("soft_device_enable_peer_access", device, peer, true);
}

soft_status soft_device_disable_peer_access(int32_t device, int32_t peer) {
  return setPeerAccess("soft_device_disable_peer_access", device, peer, false);
}

soft_status soft_device_get_peer_access(int32_t device, int32_t peer,
                                        int32_t* out_enabled) {
  Device* owner = nullptr;
  if (soft_status status =
          findPair("soft_device_get_peer_access", device, peer, &owner)) {
    return status;
  }
  if (out_enabled == nullptr) {
    return fail(SOFT_INVALID_VALUE,
                "soft_device_get_peer_access: out_enabled is NULL");
  }
  *out_enabled = owner->canAccess(peer) ? 1 : 0;
  return SOFT_OK;
}
