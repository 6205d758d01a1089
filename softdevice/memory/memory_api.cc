// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "softdevice/base/machine.h"
#include "softdevice/base/status.h"
#include "softdevice/debug/fault.h"
#include "softdevice/debug/observe.h"
#include "softdevice/debug/trace.h"
#include "softdevice/device/device.h"
#include "softdevice/graph/capture.h"
#include "softdevice/memory/pinned.h"
#include "softdevice/softdevice.h"

using dipu::softdevice::checkBlockingUnsafe;
using dipu::softdevice::checkFaults;
using dipu::softdevice::checkHostFaults;
using dipu::softdevice::checkProcess;
using dipu::softdevice::checkUnsafe;
using dipu::softdevice::Device;
using dipu::softdevice::deviceOfAddress;
using dipu::softdevice::drainAllDevices;
using dipu::softdevice::fail;
using dipu::softdevice::findDevice;
using dipu::softdevice::observeAsConfigured;
using dipu::softdevice::PinnedOrigin;
using dipu::softdevice::pinnedRegistry;
using dipu::softdevice::traced;

namespace {

// Pinned memory is whole pages.
std::size_t pinnedBytes(std::size_t bytes) {
  constexpr std::size_t kPage = 4096;
  return (bytes + kPage - 1) / kPage * kPage;
}

// Whether every page of the range belongs to the process.
bool isMapped(void* ptr, std::size_t bytes) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto first = reinterpret_cast<uintptr_t>(ptr) & ~(page - 1);
  const std::size_t length = reinterpret_cast<uintptr_t>(ptr) + bytes - first;
  // MS_ASYNC writes nothing; it only fails where nothing is mapped.
  return msync(reinterpret_cast<void*>(first), length, MS_ASYNC) == 0;
}

// Where the host finds `ptr` in the allocation of `owner` at `start`, if it may
// use all of that.
void* hostPointer(Device& owner, const void* ptr, uintptr_t start,
                  std::size_t bytes) {
  auto* const first = static_cast<char*>(
      owner.memory().backingOf(reinterpret_cast<void*>(start), bytes));
  if (first == nullptr) return nullptr;
  return first + (reinterpret_cast<uintptr_t>(ptr) - start);
}

// Frees memory of `owner`, which is nullptr when it is nobody's. Copies and
// kernels of peers may use it too, so all devices are waited for.
soft_status freeAfterWork(Device* owner, void* ptr) {
  if (owner != nullptr) {
    drainAllDevices();
    if (owner->lost()) return owner->error();
    if (owner->memory().release(ptr)) return SOFT_OK;
    if (owner->memory().isOpened(ptr)) {
      return fail(SOFT_INVALID_VALUE,
                  "soft_free: %p belongs to another process; end its use with "
                  "soft_ipc_close_memory",
                  ptr);
    }
  }
  return fail(SOFT_INVALID_VALUE,
              "soft_free: %p is not the start of an allocation of any device",
              ptr);
}

soft_status hostAllocate(std::size_t bytes, void** out_ptr) {
  if (soft_status status = checkHostFaults(bytes)) return status;
  const std::size_t available = dipu::softdevice::availableMemory();
  void* ptr = MAP_FAILED;
  if (bytes <= available) {
    ptr = mmap(nullptr, pinnedBytes(bytes), PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  }
  if (ptr == MAP_FAILED) {
    return fail(SOFT_OUT_OF_MEMORY,
                "soft_host_malloc: %zu bytes of host memory asked for, %zu "
                "available",
                bytes, available);
  }
  if (!pinnedRegistry().add(ptr, pinnedBytes(bytes),
                            PinnedOrigin::kAllocated)) {
    munmap(ptr, pinnedBytes(bytes));
    return fail(SOFT_INVALID_VALUE,
                "soft_host_malloc: memory that was given to soft_host_register "
                "has been unmapped; call soft_host_unregister first");
  }
  *out_ptr = ptr;
  return SOFT_OK;
}

soft_status hostFree(void* ptr, std::size_t bytes) {
  drainAllDevices();
  if (!pinnedRegistry().remove(ptr, PinnedOrigin::kAllocated)) {
    return fail(SOFT_INVALID_VALUE, "soft_host_free: %p is freed twice", ptr);
  }
  munmap(ptr, bytes);
  return SOFT_OK;
}

}  // namespace

soft_status soft_malloc(int32_t device, size_t bytes, void** out_ptr) {
  Device* owner = nullptr;
  if (soft_status status = findDevice("soft_malloc", device, &owner)) {
    return status;
  }
  if (soft_status status = checkUnsafe("soft_malloc")) return status;
  if (out_ptr == nullptr) {
    return fail(SOFT_INVALID_VALUE, "soft_malloc: out_ptr is NULL");
  }
  if (bytes == 0) {
    *out_ptr = nullptr;
    return SOFT_OK;
  }
  return traced({SOFT_TRACE_ALLOCATE, device, SOFT_TRACE_NO_STREAM, bytes},
                [&] {
                  if (soft_status status = checkFaults(owner, bytes))
                    return status;
                  return owner->memory().allocate(bytes, out_ptr);
                });
}

soft_status soft_free(void* ptr) {
  if (soft_status status = checkBlockingUnsafe("soft_free")) return status;
  if (ptr == nullptr) return SOFT_OK;
  Device* owner = deviceOfAddress(ptr);
  uintptr_t start = 0;
  std::size_t bytes = 0;
  if (owner != nullptr) owner->memory().find(ptr, &start, &bytes);
  const int32_t device = owner == nullptr ? -1 : owner->index();
  return traced({SOFT_TRACE_FREE, device, SOFT_TRACE_NO_STREAM, bytes},
                [&] { return freeAfterWork(owner, ptr); });
}

soft_status soft_memory_info(int32_t device, size_t* out_free,
                             size_t* out_total) {
  Device* owner = nullptr;
  if (soft_status status = findDevice("soft_memory_info", device, &owner)) {
    return status;
  }
  if (out_free == nullptr || out_total == nullptr) {
    return fail(SOFT_INVALID_VALUE, "soft_memory_info: an output is NULL");
  }
  const auto& memory = owner->memory();
  *out_total = memory.capacity();
  *out_free = std::min(memory.capacity() - memory.used(),
                       dipu::softdevice::availableMemory());
  return SOFT_OK;
}

soft_status soft_host_malloc(size_t bytes, void** out_ptr) {
  if (soft_status status = checkProcess("soft_host_malloc")) return status;
  observeAsConfigured();  // no device need have been used
  if (soft_status status = checkUnsafe("soft_host_malloc")) return status;
  if (out_ptr == nullptr) {
    return fail(SOFT_INVALID_VALUE, "soft_host_malloc: out_ptr is NULL");
  }
  if (bytes == 0) {
    *out_ptr = nullptr;
    return SOFT_OK;
  }
  return traced({SOFT_TRACE_HOST_ALLOCATE, -1, SOFT_TRACE_NO_STREAM, bytes},
                [&] { return hostAllocate(bytes, out_ptr); });
}

soft_status soft_host_free(void* ptr) {
  if (soft_status status = checkBlockingUnsafe("soft_host_free")) return status;
  if (ptr == nullptr) return SOFT_OK;
  uintptr_t start = 0;
  std::size_t bytes = 0;
  if (!pinnedRegistry().startsAt(ptr, PinnedOrigin::kAllocated) ||
      !pinnedRegistry().find(ptr, &start, &bytes)) {
    return fail(SOFT_INVALID_VALUE,
                "soft_host_free: %p did not come from soft_host_malloc", ptr);
  }
  return traced({SOFT_TRACE_HOST_FREE, -1, SOFT_TRACE_NO_STREAM, bytes},
                [&] { return hostFree(ptr, bytes); });
}

soft_status soft_host_register(void* ptr, size_t bytes) {
  if (soft_status status = checkProcess("soft_host_register")) return status;
  if (soft_status status = checkUnsafe("soft_host_register")) return status;
  uintptr_t end = 0;
  if (ptr == nullptr || bytes == 0 || deviceOfAddress(ptr) != nullptr ||
      __builtin_add_overflow(reinterpret_cast<uintptr_t>(ptr), bytes, &end)) {
    return fail(SOFT_INVALID_VALUE,
                "soft_host_register: %zu bytes at %p are no host memory", bytes,
                ptr);
  }
  if (!isMapped(ptr, bytes)) {
    return fail(SOFT_INVALID_VALUE,
                "soft_host_register: part of the %zu bytes at %p is not mapped "
                "in this process",
                bytes, ptr);
  }
  if (!pinnedRegistry().add(ptr, bytes, PinnedOrigin::kRegistered)) {
    return fail(SOFT_INVALID_VALUE,
                "soft_host_register: %p overlaps memory that is pinned already",
                ptr);
  }
  return SOFT_OK;
}

soft_status soft_host_unregister(void* ptr) {
  if (soft_status status = checkBlockingUnsafe("soft_host_unregister"))
    return status;
  if (pinnedRegistry().startsAt(ptr, PinnedOrigin::kRegistered)) {
    drainAllDevices();
    if (pinnedRegistry().remove(ptr, PinnedOrigin::kRegistered)) return SOFT_OK;
  }
  return fail(SOFT_INVALID_VALUE,
              "soft_host_unregister: %p was not given to soft_host_register",
              ptr);
}

soft_status soft_pointer_get_info(const void* ptr,
                                  soft_pointer_info* out_info) {
  if (soft_status status = checkProcess("soft_pointer_get_info")) return status;
  if (out_info == nullptr) {
    return fail(SOFT_INVALID_VALUE, "soft_pointer_get_info: out_info is NULL");
  }
  soft_pointer_info info{SOFT_MEMORY_UNKNOWN, -1, nullptr, 0, nullptr};
  uintptr_t start = 0;
  Device* owner = deviceOfAddress(ptr);
  if (owner != nullptr) {
    if (owner->memory().find(ptr, &start, &info.bytes)) {
      info.kind = SOFT_MEMORY_DEVICE;
      info.device = owner->index();
      info.host_pointer = hostPointer(*owner, ptr, start, info.bytes);
    }
  } else if (pinnedRegistry().find(ptr, &start, &info.bytes)) {
    info.kind = SOFT_MEMORY_PINNED;
  }
  info.allocation = reinterpret_cast<void*>(start);
  *out_info = info;
  return SOFT_OK;
}
