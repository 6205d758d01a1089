// SPDX-License-Identifier: Apache-2.0
//
// Memory shared between processes. tang does not share events.
#include "core/abi/ipc.h"

#include <cstdint>
#include <cstring>

#include "core/plugin_kit/guard.h"
#include "core/plugin_kit/table.h"
#include "vendors/droplet/context.h"
#include "vendors/droplet/runtime.h"
#include "vendors/droplet/status.h"
#include "vendors/droplet/tang/tang_runtime.h"

namespace dipu::vendors::droplet {
namespace {

using plugin_kit::kGuarded;

dipu_error* exportMemory(int32_t device, void* ptr, void* out_handle) {
  tangIpcMemHandle_t handle;
  const tangError_t status =
      onDevice(device, [&] { return tangIpcGetMemHandle(&handle, ptr); });
  if (dipu_error* error =
          check(status, "tangIpcGetMemHandle(%p) on device %d", ptr, device)) {
    return error;
  }
  std::memcpy(out_handle, &handle, sizeof(handle));
  return nullptr;
}

dipu_error* openMemory(int32_t device, const void* handle, void** out_ptr) {
  tangIpcMemHandle_t sdk_handle;
  std::memcpy(&sdk_handle, handle, sizeof(sdk_handle));
  void* ptr = nullptr;
  const tangError_t status = onDevice(device, [&] {
    return tangIpcOpenMemHandle(&ptr, sdk_handle,
                                tangIpcMemLazyEnablePeerAccess);
  });
  if (dipu_error* error =
          check(status, "tangIpcOpenMemHandle on device %d", device)) {
    return error;
  }
  *out_ptr = ptr;
  return nullptr;
}

void closeMemory(int32_t device, void* ptr) {
  if (ptr != nullptr) {
    onDevice(device, [&] { return tangIpcCloseMemHandle(ptr); });
  }
}

constexpr dipu_ipc_api makeIpcApi() {
  auto api = plugin_kit::makeTable<dipu_ipc_api>(DIPU_IPC_API_VERSION);
  api.memory_handle_size = sizeof(tangIpcMemHandle_t);
  api.export_memory = kGuarded<exportMemory>;
  api.open_memory = kGuarded<openMemory>;
  api.close_memory = kGuarded<closeMemory>;
  return api;
}

}  // namespace

constexpr dipu_ipc_api kIpcApi = makeIpcApi();

}  // namespace dipu::vendors::droplet
