// SPDX-License-Identifier: Apache-2.0
#include "softdevice/soft_copy_2d.h"
#include "vendors/droplet/tang/status.h"
#include "vendors/droplet/tang/tang_runtime.h"

using dipu::tang::check;
using dipu::tang::currentDevice;
using dipu::tang::fail;
using dipu::tang::isKeptMemory;
using dipu::tang::requireOutput;
using dipu::tang::resolveStream;

namespace {

tangError_t findKind(const void* ptr, soft_memory_kind* out_kind) {
  soft_pointer_info info;
  if (tangError_t error = check(soft_pointer_get_info(ptr, &info))) {
    return error;
  }
  *out_kind = info.kind;
  return tangSuccess;
}

// There is no direction "default": the caller has to know what it copies.
tangError_t checkDirection(const char* function, const void* dst,
                           const void* src, size_t bytes, tangMemcpyKind kind) {
  if (kind < tangMemcpyHostToHost || kind > tangMemcpyDeviceToDevice) {
    return fail(tangErrorInvalidMemcpyDirection, "%s: kind %d is unknown",
                function, static_cast<int>(kind));
  }
  if (bytes == 0) return tangSuccess;
  const bool to_device =
      kind == tangMemcpyHostToDevice || kind == tangMemcpyDeviceToDevice;
  const bool from_device =
      kind == tangMemcpyDeviceToHost || kind == tangMemcpyDeviceToDevice;
  soft_memory_kind to = SOFT_MEMORY_UNKNOWN;
  soft_memory_kind from = SOFT_MEMORY_UNKNOWN;
  if (tangError_t error = findKind(dst, &to)) return error;
  if (tangError_t error = findKind(src, &from)) return error;
  if ((to == SOFT_MEMORY_DEVICE) != to_device ||
      (from == SOFT_MEMORY_DEVICE) != from_device) {
    return fail(tangErrorInvalidMemcpyDirection,
                "%s: kind %d does not fit destination %p and source %p",
                function, static_cast<int>(kind), dst, src);
  }
  return tangSuccess;
}

// Each side must lie on the device that the caller says.
tangError_t checkPeers(const char* function, const void* dst, int dst_device,
                       const void* src, int src_device, size_t bytes) {
  if (bytes == 0) return tangSuccess;
  soft_pointer_info to;
  soft_pointer_info from;
  if (tangError_t error = check(soft_pointer_get_info(dst, &to))) return error;
  if (tangError_t error = check(soft_pointer_get_info(src, &from))) {
    return error;
  }
  if (to.device == dst_device && from.device == src_device && dst_device >= 0 &&
      src_device >= 0) {
    return tangSuccess;
  }
  return fail(tangErrorInvalidValue,
              "%s: %p is not memory of device %d or %p not of device %d",
              function, dst, dst_device, src, src_device);
}

}  // namespace

tangError_t dipu::tang::allocateOn(int device, size_t bytes, void** out_ptr) {
  soft_status status = soft_malloc(device, bytes, out_ptr);
  if (status == SOFT_OUT_OF_MEMORY) {
    // What tangFreeAsync keeps may be enough.
    if (tangError_t error = releaseKeptMemory(device)) return error;
    status = soft_malloc(device, bytes, out_ptr);
  }
  if (status != SOFT_OUT_OF_MEMORY) return check(status);
  return fail(tangErrorDeviceOutOfMemory, "%s", soft_last_message());
}

tangError_t tangMalloc(void** pptr, size_t sizeBytes) {
  return dipu::tang::allocateOn(currentDevice(), sizeBytes, pptr);
}

tangError_t tangFree(void* ptr) {
  if (tangError_t error = dipu::tang::requireProcess()) return error;
  if (isKeptMemory(ptr)) {
    return fail(tangErrorInvalidDevicePointer,
                "tangFree: %p has already been given to tangFreeAsync", ptr);
  }
  const soft_status status = soft_free(ptr);
  if (status != SOFT_INVALID_VALUE) return check(status);
  return fail(tangErrorInvalidDevicePointer, "%s", soft_last_message());
}

tangError_t tangMallocHost(void** pptr, size_t sizeBytes) {
  return check(soft_host_malloc(sizeBytes, pptr));
}

tangError_t tangHostAlloc(void** pptr, size_t sizeBytes, unsigned int flags) {
  constexpr unsigned kSupported =
      tangHostAllocPortable | tangHostAllocMapDeviceMemory;
  if ((flags & ~kSupported) != 0) {
    return fail(tangErrorNotSupported, "tangHostAlloc: flags 0x%x", flags);
  }
  return tangMallocHost(pptr, sizeBytes);
}

tangError_t tangFreeHost(void* ptr) { return check(soft_host_free(ptr)); }

tangError_t tangHostRegister(void* ptr, size_t sizeBytes, unsigned int flags) {
  if ((flags & ~unsigned{tangHostAllocPortable}) != 0) {
    return fail(tangErrorNotSupported, "tangHostRegister: flags 0x%x", flags);
  }
  soft_pointer_info info;
  if (soft_pointer_get_info(ptr, &info) == SOFT_OK &&
      info.kind == SOFT_MEMORY_PINNED) {
    return fail(tangErrorHostMemoryAlreadyRegistered, "tangHostRegister of %p",
                ptr);
  }
  return check(soft_host_register(ptr, sizeBytes));
}

tangError_t tangHostUnregister(void* ptr) {
  return check(soft_host_unregister(ptr));
}

tangError_t tangMemcpy(void* dst, const void* src, size_t sizeBytes,
                       tangMemcpyKind kind) {
  if (tangError_t error =
          checkDirection("tangMemcpy", dst, src, sizeBytes, kind)) {
    return error;
  }
  return check(soft_memcpy(dst, src, sizeBytes));
}

tangError_t tangMemcpyAsync(void* dst, const void* src, size_t sizeBytes,
                            tangMemcpyKind kind, tangStream_t stream) {
  soft_stream* target = nullptr;
  if (tangError_t error = resolveStream(stream, &target)) return error;
  if (tangError_t error =
          checkDirection("tangMemcpyAsync", dst, src, sizeBytes, kind)) {
    return error;
  }
  return check(soft_memcpy_async(dst, src, sizeBytes, target));
}

tangError_t tangMemcpy2D(void* dst, size_t dpitch, const void* src,
                         size_t spitch, size_t width, size_t height,
                         tangMemcpyKind kind) {
  if (tangError_t error = checkDirection("tangMemcpy2D", dst, src,
                                         height == 0 ? 0 : width, kind)) {
    return error;
  }
  return check(soft_memcpy_2d(dst, dpitch, src, spitch, width, height));
}

tangError_t tangMemcpy2DAsync(void* dst, size_t dpitch, const void* src,
                              size_t spitch, size_t width, size_t height,
                              tangMemcpyKind kind, tangStream_t stream) {
  soft_stream* target = nullptr;
  if (tangError_t error = resolveStream(stream, &target)) return error;
  if (tangError_t error = checkDirection("tangMemcpy2DAsync", dst, src,
                                         height == 0 ? 0 : width, kind)) {
    return error;
  }
  return check(
      soft_memcpy_2d_async(dst, dpitch, src, spitch, width, height, target));
}

tangError_t tangMemcpyPeer(void* dst, int dstDevice, const void* src,
                           int srcDevice, size_t count) {
  if (tangError_t error =
          checkPeers("tangMemcpyPeer", dst, dstDevice, src, srcDevice, count)) {
    return error;
  }
  return check(soft_memcpy(dst, src, count));
}

tangError_t tangMemcpyPeerAsync(void* dst, int dstDevice, const void* src,
                                int srcDevice, size_t count,
                                tangStream_t stream) {
  soft_stream* target = nullptr;
  if (tangError_t error = resolveStream(stream, &target)) return error;
  if (tangError_t error = checkPeers("tangMemcpyPeerAsync", dst, dstDevice, src,
                                     srcDevice, count)) {
    return error;
  }
  return check(soft_memcpy_async(dst, src, count, target));
}

tangError_t tangMemset(void* dst, int value, size_t sizeBytes) {
  if (tangError_t error = tangMemsetAsync(dst, value, sizeBytes, nullptr)) {
    return error;
  }
  return tangStreamSynchronize(nullptr);
}

tangError_t tangMemsetAsync(void* dst, int value, size_t sizeBytes,
                            tangStream_t stream) {
  soft_stream* target = nullptr;
  if (tangError_t error = resolveStream(stream, &target)) return error;
  return check(soft_memset_async(dst, value, sizeBytes, target));
}

tangError_t tangMemGetInfo(size_t* free, size_t* total) {
  return check(soft_memory_info(currentDevice(), free, total));
}

tangError_t tangPointerGetAttributes(struct tangPointerAttributes* attributes,
                                     const void* ptr) {
  if (tangError_t error =
          requireOutput("tangPointerGetAttributes", attributes)) {
    return error;
  }
  soft_pointer_info info;
  if (tangError_t error = check(soft_pointer_get_info(ptr, &info))) {
    return error;
  }
  void* const address = const_cast<void*>(ptr);
  switch (info.kind) {
    case SOFT_MEMORY_DEVICE:
      *attributes = {tangMemoryTypeDevice, info.device, address,
                     info.host_pointer};
      break;
    case SOFT_MEMORY_PINNED:
      *attributes = {tangMemoryTypeHost, -1, address, address};
      break;
    default:
      *attributes = {tangMemoryTypeUnregistered, -1, nullptr, address};
      break;
  }
  return tangSuccess;
}
