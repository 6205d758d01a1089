// SPDX-License-Identifier: Apache-2.0
#include "softdevice/base/status.h"
#include "softdevice/device/device.h"
#include "softdevice/graph/capture.h"
#include "softdevice/ipc/ipc_handle.h"
#include "softdevice/soft_ipc.h"
#include "softdevice/stream/pause.h"

using dipu::softdevice::checkBlockingUnsafe;
using dipu::softdevice::Device;
using dipu::softdevice::deviceOfAddress;
using dipu::softdevice::drainAllDevices;
using dipu::softdevice::encodeHandle;
using dipu::softdevice::fail;
using dipu::softdevice::findDevice;
using dipu::softdevice::IpcKind;
using dipu::softdevice::IpcTarget;
using dipu::softdevice::openHandle;
using dipu::softdevice::SharedFile;
using dipu::softdevice::SharedPart;
using dipu::softdevice::thisProcess;
using dipu::softdevice::withHostMemory;
using dipu::softdevice::WorkPause;

namespace {

constexpr const char* kExport = "soft_ipc_export_memory";
constexpr const char* kOpen = "soft_ipc_open_memory";
constexpr const char* kClose = "soft_ipc_close_memory";

// Work pauses only if the memory has to be moved.
soft_status share(Device* owner, const void* ptr, SharedPart* out_part) {
  auto& memory = owner->memory();
  if (soft_status status = memory.share(kExport, ptr, false, out_part)) {
    return status;
  }
  if (out_part->file != nullptr) return SOFT_OK;
  WorkPause pause;
  if (soft_status status = pause.begin(kExport)) return status;
  return memory.share(kExport, ptr, true, out_part);
}

soft_status exportMemory(Device* owner, const void* ptr,
                         soft_ipc_handle* out_handle) {
  SharedPart part;
  if (soft_status status = share(owner, ptr, &part)) return status;
  encodeHandle(IpcKind::kMemory,
               IpcTarget{thisProcess(), part.file->fd(), part.file->id(),
                         part.offset, part.bytes},
               out_handle);
  return SOFT_OK;
}

soft_status openMemory(Device* owner, const soft_ipc_handle& handle,
                       void** out_ptr) {
  IpcTarget target;
  std::shared_ptr<SharedFile> file;
  if (soft_status status =
          openHandle(kOpen, IpcKind::kMemory, handle, &target, &file)) {
    return status;
  }
  return owner->memory().open(kOpen, {file, target.offset, target.bytes},
                              out_ptr);
}

}  // namespace

soft_status soft_ipc_export_memory(const void* ptr,
                                   soft_ipc_handle* out_handle) {
  if (soft_status status = checkBlockingUnsafe(kExport)) return status;
  Device* owner = deviceOfAddress(ptr);
  if (owner == nullptr || out_handle == nullptr) {
    return fail(SOFT_INVALID_VALUE,
                "%s: %p is not device memory or out_handle is NULL", kExport,
                ptr);
  }
  return withHostMemory(kExport,
                        [&] { return exportMemory(owner, ptr, out_handle); });
}

soft_status soft_ipc_open_memory(int32_t device, const soft_ipc_handle* handle,
                                 void** out_ptr) {
  if (soft_status status = checkBlockingUnsafe(kOpen)) return status;
  Device* owner = nullptr;
  if (soft_status status = findDevice(kOpen, device, &owner)) return status;
  if (handle == nullptr || out_ptr == nullptr) {
    return fail(SOFT_INVALID_VALUE, "%s: handle or out_ptr is NULL", kOpen);
  }
  return withHostMemory(kOpen,
                        [&] { return openMemory(owner, *handle, out_ptr); });
}

soft_status soft_ipc_close_memory(void* ptr) {
  if (soft_status status = checkBlockingUnsafe(kClose)) return status;
  if (ptr == nullptr) return SOFT_OK;
  Device* owner = deviceOfAddress(ptr);
  if (owner != nullptr && owner->memory().isOpened(ptr)) {
    drainAllDevices();
    if (owner->memory().close(ptr)) return SOFT_OK;
  }
  return fail(SOFT_INVALID_VALUE,
              "%s: %p did not come from soft_ipc_open_memory", kClose, ptr);
}
