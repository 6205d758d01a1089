// SPDX-License-Identifier: Apache-2.0
//
// Memory shared between processes.
#include <cstring>
#include <iterator>
#include <mutex>
#include <unordered_map>

#include "softdevice/soft_ipc.h"
#include "vendors/droplet/tang/status.h"
#include "vendors/droplet/tang/tang_runtime.h"

using dipu::tang::check;
using dipu::tang::currentDevice;
using dipu::tang::fail;
using dipu::tang::requireOutput;
using dipu::tang::requireProcess;

static_assert(sizeof(tangIpcMemHandle_t) == sizeof(soft_ipc_handle),
              "a handle is softdevice's");

namespace {

struct Opened {
  int device = 0;
  int times = 0;
};

// By address, which is not this process's to free. Never destroyed, like the
// memory.
struct OpenedMemory {
  std::mutex mutex;
  std::unordered_map<const void*, Opened> opens;
};

OpenedMemory& openedMemory() {
  static auto* const instance = new OpenedMemory;
  return *instance;
}

}  // namespace

bool dipu::tang::isOpenedMemory(const void* ptr) {
  OpenedMemory& opened = openedMemory();
  std::lock_guard<std::mutex> lock(opened.mutex);
  return opened.opens.count(ptr) != 0;
}

void dipu::tang::forgetOpenedMemory(int device) {
  OpenedMemory& opened = openedMemory();
  std::lock_guard<std::mutex> lock(opened.mutex);
  for (auto it = opened.opens.begin(); it != opened.opens.end();) {
    it = it->second.device == device ? opened.opens.erase(it) : std::next(it);
  }
}

tangError_t tangIpcGetMemHandle(tangIpcMemHandle_t* pHandle, void* devPtr) {
  if (tangError_t error = requireOutput("tangIpcGetMemHandle", pHandle)) {
    return error;
  }
  if (tangError_t error = requireProcess()) return error;
  if (dipu::tang::isKeptMemory(devPtr)) {
    return fail(tangErrorInvalidDevicePointer,
                "tangIpcGetMemHandle: %p has been given to tangFreeAsync",
                devPtr);
  }
  soft_ipc_handle handle;
  const soft_status status = soft_ipc_export_memory(devPtr, &handle);
  if (status == SOFT_INVALID_VALUE) {
    return fail(tangErrorInvalidDevicePointer, "%s", soft_last_message());
  }
  if (tangError_t error = check(status)) return error;
  std::memcpy(pHandle, &handle, sizeof(handle));
  return tangSuccess;
}

tangError_t tangIpcOpenMemHandle(void** devPtr, tangIpcMemHandle_t handle,
                                 unsigned int flags) {
  if (tangError_t error = requireOutput("tangIpcOpenMemHandle", devPtr)) {
    return error;
  }
  if ((flags & ~unsigned{tangIpcMemLazyEnablePeerAccess}) != 0) {
    return fail(tangErrorInvalidValue, "tangIpcOpenMemHandle: flags 0x%x",
                flags);
  }
  soft_ipc_handle soft_handle;
  std::memcpy(&soft_handle, &handle, sizeof(handle));
  if (tangError_t error = requireProcess()) return error;
  OpenedMemory& opened = openedMemory();
  std::lock_guard<std::mutex> lock(opened.mutex);
  const int device = currentDevice();
  void* ptr = nullptr;
  if (tangError_t error =
          check(soft_ipc_open_memory(device, &soft_handle, &ptr))) {
    return error;
  }
  Opened& open = opened.opens[ptr];
  open.device = device;
  ++open.times;
  *devPtr = ptr;
  return tangSuccess;
}

tangError_t tangIpcCloseMemHandle(void* devPtr) {
  if (tangError_t error = requireProcess()) return error;
  OpenedMemory& opened = openedMemory();
  std::lock_guard<std::mutex> lock(opened.mutex);
  const auto found = opened.opens.find(devPtr);
  if (found == opened.opens.end()) {
    return fail(tangErrorInvalidDevicePointer,
                "tangIpcCloseMemHandle: %p was not opened", devPtr);
  }
  if (tangError_t error = check(soft_ipc_close_memory(devPtr))) return error;
  if (--found->second.times == 0) opened.opens.erase(found);
  return tangSuccess;
}

tangError_t tangIpcGetEventHandle(tangIpcEventHandle_t* pHandle,
                                  tangEvent_t event) {
  static_cast<void>(pHandle);
  static_cast<void>(event);
  return fail(tangErrorNotSupported,
              "tangIpcGetEventHandle: events are not shared between processes");
}

tangError_t tangIpcOpenEventHandle(tangEvent_t* phEvent,
                                   tangIpcEventHandle_t handle) {
  static_cast<void>(phEvent);
  static_cast<void>(handle);
  return fail(
      tangErrorNotSupported,
      "tangIpcOpenEventHandle: events are not shared between processes");
}
