// SPDX-License-Identifier: Apache-2.0
//
// Who droplet is, and the entry point.
#include "core/abi/vendor_api.h"
#include "core/plugin_kit/guard.h"
#include "core/plugin_kit/table.h"
#include "vendors/droplet/runtime.h"
#include "vendors/droplet/status.h"
#include "vendors/droplet/tang/tang_runtime.h"

namespace dipu::vendors::droplet {
namespace {

// Asking for the devices is what opens the driver.
dipu_error* initialize(const dipu_host_services* host) {
  static_cast<void>(host);
  int count = 0;
  const tangError_t code = tangGetDeviceCount(&count);
  // No card is a success with no devices; see get_count.
  if (code == tangErrorNoDevice) return nullptr;
  return check(code, "tangGetDeviceCount");
}

constexpr dipu_operators_api makeOperators() {
  auto api =
      plugin_kit::makeTable<dipu_operators_api>(DIPU_OPERATORS_API_VERSION);
  api.diopi_revision = 1;
  api.library = "libdiopi_impl.so";
  return api;
}

constexpr dipu_operators_api kOperatorsApi = makeOperators();

constexpr dipu_vendor makeVendor() {
  dipu_vendor vendor{};
  vendor.struct_size = sizeof(vendor);
  vendor.abi_version = DIPU_ABI_VERSION;
  vendor.name = "droplet";
  vendor.display_name = "Droplet (software device)";
  vendor.version = "0.1.0";
  vendor.sdk_version = "tang 0.13";
  vendor.flags = DIPU_VENDOR_SIMULATED;
  vendor.initialize = plugin_kit::kGuarded<initialize>;
  vendor.device = &kDeviceApi;
  vendor.memory = &kMemoryApi;
  vendor.stream = &kStreamApi;
  vendor.event = &kEventApi;
  vendor.operators = &kOperatorsApi;
  vendor.communicator = &kCommunicatorApi;
  vendor.graph = &kGraphApi;
  vendor.ipc = &kIpcApi;
  return vendor;
}

constexpr dipu_vendor kVendor = makeVendor();

}  // namespace
}  // namespace dipu::vendors::droplet

const dipu_vendor* dipu_vendor_query(uint32_t max_abi_version) {
  if (DIPU_VERSION_MAJOR(max_abi_version) !=
      DIPU_VERSION_MAJOR(DIPU_ABI_VERSION)) {
    return nullptr;
  }
  return &dipu::vendors::droplet::kVendor;
}
