// SPDX-License-Identifier: Apache-2.0
//
// Devices and memory. tang has no copy kind "default", so the contract's device
// indices choose the kind.
#include "vendors/droplet/runtime.h"

#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

#include "core/plugin_kit/guard.h"
#include "core/plugin_kit/table.h"
#include "vendors/droplet/context.h"
#include "vendors/droplet/status.h"
#include "vendors/droplet/tang/tang_runtime.h"

namespace dipu::vendors::droplet {
namespace {

using plugin_kit::kGuarded;
using plugin_kit::makeTable;

// Devices.

dipu_error* getCount(int32_t* out_count) {
  int count = 0;
  const tangError_t status = tangGetDeviceCount(&count);
  if (status == tangErrorNoDevice) {
    *out_count = 0;
    return nullptr;
  }
  if (dipu_error* error = check(status, "tangGetDeviceCount")) return error;
  *out_count = count;
  return nullptr;
}

dipu_error* setCurrent(int32_t device) {
  return check(tangSetDevice(device), "tangSetDevice(%d)", device);
}

dipu_error* getCurrent(int32_t* out_device) {
  int device = 0;
  if (dipu_error* error = check(tangGetDevice(&device), "tangGetDevice")) {
    return error;
  }
  *out_device = device;
  return nullptr;
}

dipu_error* synchronizeDevice(int32_t device) {
  return check(onDevice(device, [] { return tangDeviceSynchronize(); }),
               "tangDeviceSynchronize of device %d", device);
}

dipu_error* resetDevice(int32_t device) {
  const tangError_t status = onDevice(device, [] { return tangDeviceReset(); });
  if (dipu_error* error =
          check(status, "tangDeviceReset of device %d", device)) {
    return error;
  }
  forgetDefaultStream(device);
  return nullptr;
}

dipu_error* getMemoryInfo(int32_t device, size_t* out_free, size_t* out_total) {
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  const tangError_t status = onDevice(
      device, [&] { return tangMemGetInfo(&free_bytes, &total_bytes); });
  if (dipu_error* error =
          check(status, "tangMemGetInfo of device %d", device)) {
    return error;
  }
  *out_free = free_bytes;
  *out_total = total_bytes;
  return nullptr;
}

dipu_error* getProperties(int32_t device,
                          dipu_device_properties* inout_properties) {
  dipu_device_properties filled{};
  const std::pair<tangDeviceAttr, int32_t*> attributes[] = {
      {tangDevAttrComputeCapabilityMajor, &filled.major},
      {tangDevAttrMultiProcessorCount, &filled.multi_processor_count},
      {tangDevAttrMaxThreadsPerBlock, &filled.max_threads_per_block},
      {tangDevAttrWarpSize, &filled.warp_size},
  };
  for (const auto& [attribute, value] : attributes) {
    if (dipu_error* error =
            check(tangDeviceGetAttribute(value, attribute, device),
                  "tangDeviceGetAttribute(%d) of device %d",
                  static_cast<int>(attribute), device)) {
      return error;
    }
  }
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  if (dipu_error* error = getMemoryInfo(device, &free_bytes, &total_bytes)) {
    return error;
  }
  filled.total_memory = total_bytes;
  std::snprintf(filled.name, sizeof(filled.name), "Droplet (software device)");
  plugin_kit::copyKnownFields(filled, inout_properties);
  return nullptr;
}

dipu_error* canAccessPeer(int32_t device, int32_t peer,
                          int32_t* out_accessible) {
  int accessible = 0;
  if (dipu_error* error =
          check(tangDeviceCanAccessPeer(&accessible, device, peer),
                "tangDeviceCanAccessPeer(%d, %d)", device, peer)) {
    return error;
  }
  *out_accessible = accessible != 0 ? 1 : 0;
  return nullptr;
}

dipu_error* enablePeerAccess(int32_t device, int32_t peer) {
  const tangError_t status = onDevice(
      device, [&] { return tangDeviceEnablePeerAccess(peer, /*flags=*/0); });
  if (status == tangErrorPeerAccessAlreadyEnabled) return nullptr;
  return check(status, "tangDeviceEnablePeerAccess(%d) on device %d", peer,
               device);
}

dipu_error* disablePeerAccess(int32_t device, int32_t peer) {
  return check(
      onDevice(device, [&] { return tangDeviceDisablePeerAccess(peer); }),
      "tangDeviceDisablePeerAccess(%d) on device %d", peer, device);
}

// Memory.

dipu_error* allocate(int32_t device, size_t bytes, void** out_ptr) {
  void* pointer = nullptr;
  const tangError_t status =
      onDevice(device, [&] { return tangMalloc(&pointer, bytes); });
  if (dipu_error* error = check(status, "tangMalloc of %zu bytes on device %d",
                                bytes, device)) {
    return error;
  }
  *out_ptr = pointer;
  return nullptr;
}

void deallocate(int32_t device, void* ptr) {
  if (ptr != nullptr) onDevice(device, [&] { return tangFree(ptr); });
}

dipu_error* hostAllocate(size_t bytes, void** out_ptr) {
  void* pointer = nullptr;
  if (dipu_error* error = check(tangMallocHost(&pointer, bytes),
                                "tangMallocHost of %zu bytes", bytes)) {
    return error;
  }
  *out_ptr = pointer;
  return nullptr;
}

void hostDeallocate(void* ptr) {
  if (ptr != nullptr) tangFreeHost(ptr);
}

tangMemcpyKind copyKind(int32_t dst_device, int32_t src_device) {
  if (dst_device == DIPU_HOST) {
    return src_device == DIPU_HOST ? tangMemcpyHostToHost
                                   : tangMemcpyDeviceToHost;
  }
  return src_device == DIPU_HOST ? tangMemcpyHostToDevice
                                 : tangMemcpyDeviceToDevice;
}

bool isBetweenDevices(int32_t dst_device, int32_t src_device) {
  return dst_device != DIPU_HOST && src_device != DIPU_HOST &&
         dst_device != src_device;
}

std::string placeOf(int32_t device) {
  return device == DIPU_HOST ? "the host" : "device " + std::to_string(device);
}

dipu_error* checkCopy(tangError_t status, int32_t dst_device,
                      int32_t src_device, size_t bytes) {
  if (status == tangSuccess) return nullptr;
  return check(status, "copy of %zu bytes from %s to %s", bytes,
               placeOf(src_device).c_str(), placeOf(dst_device).c_str());
}

dipu_error* copyAsync(void* dst, int32_t dst_device, const void* src,
                      int32_t src_device, size_t bytes, dipu_stream* stream) {
  const tangError_t status =
      isBetweenDevices(dst_device, src_device)
          ? tangMemcpyPeerAsync(dst, dst_device, src, src_device, bytes,
                                sdkHandle(stream))
          : tangMemcpyAsync(dst, src, bytes, copyKind(dst_device, src_device),
                            sdkHandle(stream));
  return checkCopy(status, dst_device, src_device, bytes);
}

dipu_error* copy(void* dst, int32_t dst_device, const void* src,
                 int32_t src_device, size_t bytes) {
  const int32_t device = dst_device != DIPU_HOST ? dst_device : src_device;
  if (device == DIPU_HOST) {
    return check(tangMemcpy(dst, src, bytes, tangMemcpyHostToHost),
                 "copy of %zu bytes within the host", bytes);
  }
  tangStream_t stream = nullptr;
  if (dipu_error* error = check(droplet::getDefaultStream(device, &stream),
                                "default stream of device %d", device)) {
    return error;
  }
  if (dipu_error* error = copyAsync(dst, dst_device, src, src_device, bytes,
                                    reinterpret_cast<dipu_stream*>(stream))) {
    return error;
  }
  return checkCopy(tangStreamSynchronize(stream), dst_device, src_device,
                   bytes);
}

// tang has no rectangles between devices: those go row by row.
dipu_error* copy2dAsync(void* dst, size_t dst_pitch, int32_t dst_device,
                        const void* src, size_t src_pitch, int32_t src_device,
                        size_t row_bytes, size_t rows, dipu_stream* stream) {
  if (isBetweenDevices(dst_device, src_device)) {
    for (size_t row = 0; row < rows; ++row) {
      if (dipu_error* error =
              copyAsync(static_cast<char*>(dst) + row * dst_pitch, dst_device,
                        static_cast<const char*>(src) + row * src_pitch,
                        src_device, row_bytes, stream)) {
        return error;
      }
    }
    return nullptr;
  }
  return checkCopy(
      tangMemcpy2DAsync(dst, dst_pitch, src, src_pitch, row_bytes, rows,
                        copyKind(dst_device, src_device), sdkHandle(stream)),
      dst_device, src_device, rows * row_bytes);
}

dipu_error* setAsync(void* ptr, int32_t device, int32_t value, size_t bytes,
                     dipu_stream* stream) {
  return check(tangMemsetAsync(ptr, value, bytes, sdkHandle(stream)),
               "tangMemsetAsync of %zu bytes on device %d", bytes, device);
}

// tang does not tell which allocation a pointer belongs to, so `allocation` and
// `bytes` stay empty.
dipu_error* getPointerInfo(const void* ptr, dipu_pointer_info* inout_info) {
  tangPointerAttributes attributes{};
  if (dipu_error* error = check(tangPointerGetAttributes(&attributes, ptr),
                                "tangPointerGetAttributes(%p)", ptr)) {
    return error;
  }
  dipu_pointer_info filled{};
  filled.device = DIPU_HOST;
  if (attributes.type == tangMemoryTypeDevice) {
    filled.kind = DIPU_MEMORY_DEVICE;
    filled.device = attributes.device;
    filled.host_pointer = attributes.hostPointer;
  } else if (attributes.type == tangMemoryTypeHost) {
    filled.kind = DIPU_MEMORY_PINNED;
  }
  plugin_kit::copyKnownFields(filled, inout_info);
  return nullptr;
}

dipu_error* hostRegister(void* ptr, size_t bytes) {
  return check(tangHostRegister(ptr, bytes, /*flags=*/0),
               "tangHostRegister of %zu bytes at %p", bytes, ptr);
}

void hostUnregister(void* ptr) {
  if (ptr != nullptr) tangHostUnregister(ptr);
}

constexpr dipu_device_api makeDeviceApi() {
  auto api = makeTable<dipu_device_api>(DIPU_DEVICE_API_VERSION);
  api.get_count = kGuarded<getCount>;
  api.set_current = kGuarded<setCurrent>;
  api.get_current = kGuarded<getCurrent>;
  api.synchronize = kGuarded<synchronizeDevice>;
  api.get_properties = kGuarded<getProperties>;
  api.reset = kGuarded<resetDevice>;
  api.can_access_peer = kGuarded<canAccessPeer>;
  api.enable_peer_access = kGuarded<enablePeerAccess>;
  api.disable_peer_access = kGuarded<disablePeerAccess>;
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
  api.copy_2d_async = kGuarded<copy2dAsync>;
  api.set_async = kGuarded<setAsync>;
  api.get_pointer_info = kGuarded<getPointerInfo>;
  api.host_register = kGuarded<hostRegister>;
  api.host_unregister = kGuarded<hostUnregister>;
  return api;
}

}  // namespace

constexpr dipu_device_api kDeviceApi = makeDeviceApi();
constexpr dipu_memory_api kMemoryApi = makeMemoryApi();

}  // namespace dipu::vendors::droplet
