// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <utility>

#include "softdevice/base/status.h"
#include "softdevice/device/device.h"
#include "softdevice/ipc/ipc_handle.h"
#include "softdevice/ipc/shared_event.h"
#include "softdevice/soft_ipc.h"
#include "softdevice/stream/event.h"

using dipu::softdevice::checkMayBlock;
using dipu::softdevice::Device;
using dipu::softdevice::encodeHandle;
using dipu::softdevice::fail;
using dipu::softdevice::findDevice;
using dipu::softdevice::IpcKind;
using dipu::softdevice::IpcTarget;
using dipu::softdevice::openHandle;
using dipu::softdevice::SharedEvent;
using dipu::softdevice::SharedFile;
using dipu::softdevice::thisProcess;
using dipu::softdevice::withHostMemory;

namespace {

constexpr const char* kExport = "soft_ipc_export_event";
constexpr const char* kOpen = "soft_ipc_open_event";

soft_status openEvent(int32_t device, const soft_ipc_handle& handle,
                      soft_event** out_event) {
  IpcTarget target;
  std::shared_ptr<SharedFile> file;
  if (soft_status status =
          openHandle(kOpen, IpcKind::kEvent, handle, &target, &file)) {
    return status;
  }
  auto shared = SharedEvent::open(std::move(file));
  if (shared == nullptr) {
    return fail(SOFT_OUT_OF_MEMORY, "%s: the system refused to map the event",
                kOpen);
  }
  *out_event = new soft_event(
      device, SOFT_EVENT_INTERPROCESS | SOFT_EVENT_DISABLE_TIMING,
      std::move(shared));
  return SOFT_OK;
}

}  // namespace

soft_status soft_ipc_export_event(const soft_event* event,
                                  soft_ipc_handle* out_handle) {
  if (soft_status status = checkMayBlock(kExport)) return status;
  if (event == nullptr) {
    return fail(SOFT_INVALID_HANDLE, "%s: the event is NULL", kExport);
  }
  if (out_handle == nullptr || event->shared() == nullptr) {
    return fail(SOFT_INVALID_VALUE,
                "%s: out_handle is NULL or the event was created without "
                "SOFT_EVENT_INTERPROCESS",
                kExport);
  }
  if (!event->shared()->isOwn()) {
    return fail(SOFT_NOT_PERMITTED,
                "%s: the event belongs to another process, which must export "
                "it",
                kExport);
  }
  return withHostMemory(kExport, [&] {
    const SharedFile& file = event->shared()->file();
    encodeHandle(
        IpcKind::kEvent,
        IpcTarget{thisProcess(), file.fd(), file.id(), 0, file.bytes()},
        out_handle);
    return soft_status{SOFT_OK};
  });
}

soft_status soft_ipc_open_event(int32_t device, const soft_ipc_handle* handle,
                                soft_event** out_event) {
  if (soft_status status = checkMayBlock(kOpen)) return status;
  Device* owner = nullptr;
  if (soft_status status = findDevice(kOpen, device, &owner)) return status;
  if (handle == nullptr || out_event == nullptr) {
    return fail(SOFT_INVALID_VALUE, "%s: handle or out_event is NULL", kOpen);
  }
  return withHostMemory(kOpen,
                        [&] { return openEvent(device, *handle, out_event); });
}
