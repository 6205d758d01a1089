// SPDX-License-Identifier: Apache-2.0
#include "softdevice/base/status.h"
#include "softdevice/debug/fault.h"
#include "softdevice/device/device.h"
#include "softdevice/graph/capture.h"
#include "softdevice/memory/virtual_memory.h"
#include "softdevice/soft_virtual_memory.h"

using dipu::softdevice::checkBlockingUnsafe;
using dipu::softdevice::checkFaults;
using dipu::softdevice::Device;
using dipu::softdevice::deviceOfAddress;
using dipu::softdevice::deviceOfMemory;
using dipu::softdevice::existingDevice;
using dipu::softdevice::fail;
using dipu::softdevice::findDevice;
using dipu::softdevice::kMaxDevices;
using dipu::softdevice::VirtualMemory;
using dipu::softdevice::withHostMemory;

namespace {

// The range and the virtual memory that it belongs to.
soft_status findRange(const char* function, const void* ptr, size_t bytes,
                      VirtualMemory** out_memory,
                      VirtualMemory::Range* out_range) {
  if (soft_status status = checkBlockingUnsafe(function)) return status;
  const auto from = reinterpret_cast<uintptr_t>(ptr);
  Device* owner = deviceOfAddress(ptr);
  uintptr_t to = 0;
  if (owner == nullptr || !owner->memory().virtualMemory().covers(from) ||
      __builtin_add_overflow(from, bytes, &to)) {
    return fail(SOFT_INVALID_VALUE,
                "%s: %zu bytes at %p are no addresses that soft_vm_reserve "
                "gave",
                function, bytes, ptr);
  }
  *out_memory = &owner->memory().virtualMemory();
  *out_range = {from, to};
  return SOFT_OK;
}

soft_status failNull(const char* function) {
  return fail(SOFT_INVALID_VALUE, "%s: the output is NULL", function);
}

}  // namespace

soft_status soft_vm_granularity(size_t* out_bytes) {
  if (out_bytes == nullptr) return failNull("soft_vm_granularity");
  *out_bytes = VirtualMemory::kPart;
  return SOFT_OK;
}

soft_status soft_vm_reserve(int32_t device, size_t bytes, size_t alignment,
                            void* hint, void** out_ptr) {
  if (soft_status status = checkBlockingUnsafe("soft_vm_reserve"))
    return status;
  Device* owner = nullptr;
  if (soft_status status = findDevice("soft_vm_reserve", device, &owner)) {
    return status;
  }
  if (out_ptr == nullptr) return failNull("soft_vm_reserve");
  return withHostMemory("soft_vm_reserve", [&] {
    return owner->memory().virtualMemory().reserve(
        bytes, alignment, reinterpret_cast<uintptr_t>(hint), out_ptr);
  });
}

soft_status soft_vm_release(void* ptr, size_t bytes) {
  VirtualMemory* memory = nullptr;
  VirtualMemory::Range range;
  if (soft_status status =
          findRange("soft_vm_release", ptr, bytes, &memory, &range)) {
    return status;
  }
  return withHostMemory("soft_vm_release",
                        [&] { return memory->release(range); });
}

soft_status soft_vm_create(int32_t device, size_t bytes,
                           soft_vm_memory* out_memory) {
  if (soft_status status = checkBlockingUnsafe("soft_vm_create")) return status;
  Device* owner = nullptr;
  if (soft_status status = findDevice("soft_vm_create", device, &owner)) {
    return status;
  }
  if (out_memory == nullptr) return failNull("soft_vm_create");
  if (soft_status status = checkFaults(owner, bytes)) return status;
  return withHostMemory("soft_vm_create", [&] {
    return owner->memory().virtualMemory().create(bytes, out_memory);
  });
}

soft_status soft_vm_destroy(soft_vm_memory memory) {
  if (soft_status status = checkBlockingUnsafe("soft_vm_destroy"))
    return status;
  const int32_t device = deviceOfMemory(memory);
  Device* owner = device < kMaxDevices ? existingDevice(device) : nullptr;
  if (owner == nullptr) {
    return fail(SOFT_INVALID_HANDLE,
                "soft_vm_destroy: %lu is no memory that exists", memory);
  }
  return owner->memory().virtualMemory().destroy(memory);
}

soft_status soft_vm_map(void* ptr, size_t bytes, soft_vm_memory memory,
                        size_t offset) {
  VirtualMemory* owner = nullptr;
  VirtualMemory::Range range;
  if (soft_status status =
          findRange("soft_vm_map", ptr, bytes, &owner, &range)) {
    return status;
  }
  return withHostMemory("soft_vm_map",
                        [&] { return owner->map(range, memory, offset); });
}

soft_status soft_vm_unmap(void* ptr, size_t bytes) {
  VirtualMemory* owner = nullptr;
  VirtualMemory::Range range;
  if (soft_status status =
          findRange("soft_vm_unmap", ptr, bytes, &owner, &range)) {
    return status;
  }
  return withHostMemory("soft_vm_unmap", [&] { return owner->unmap(range); });
}

soft_status soft_vm_set_access(void* ptr, size_t bytes, int32_t device,
                               soft_vm_access access) {
  Device* user = nullptr;
  if (soft_status status = findDevice("soft_vm_set_access", device, &user)) {
    return status;
  }
  VirtualMemory* owner = nullptr;
  VirtualMemory::Range range;
  if (soft_status status =
          findRange("soft_vm_set_access", ptr, bytes, &owner, &range)) {
    return status;
  }
  if (access != SOFT_VM_ACCESS_NONE && access != SOFT_VM_ACCESS_READ_WRITE) {
    return fail(SOFT_INVALID_VALUE, "soft_vm_set_access: access %d is unknown",
                access);
  }
  return withHostMemory("soft_vm_set_access", [&] {
    return owner->setAccess(range, device, access == SOFT_VM_ACCESS_READ_WRITE);
  });
}

soft_status soft_vm_get_access(const void* ptr, int32_t device,
                               soft_vm_access* out_access) {
  Device* user = nullptr;
  if (soft_status status = findDevice("soft_vm_get_access", device, &user)) {
    return status;
  }
  VirtualMemory* owner = nullptr;
  VirtualMemory::Range range;
  if (soft_status status =
          findRange("soft_vm_get_access", ptr, 1, &owner, &range)) {
    return status;
  }
  if (out_access == nullptr) return failNull("soft_vm_get_access");
  *out_access = owner->hasAccess(range.from, device) ? SOFT_VM_ACCESS_READ_WRITE
                                                     : SOFT_VM_ACCESS_NONE;
  return SOFT_OK;
}
