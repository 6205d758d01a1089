// SPDX-License-Identifier: Apache-2.0
//
// Who this vendor is, and the entry point.
#include "core/abi/vendor_api.h"
#include "vendors/null/runtime.h"

namespace dipu::vendors::null {
namespace {

// Opens the SDK: check that the driver is there and return a clear error if it
// is not. There is none here.
dipu_error* initialize(const dipu_host_services* host) {
  static_cast<void>(host);
  return nullptr;
}

constexpr dipu_vendor makeVendor() {
  dipu_vendor vendor{};
  vendor.struct_size = sizeof(vendor);
  vendor.abi_version = DIPU_ABI_VERSION;
  vendor.name = "null";
  vendor.display_name = "null (a vendor without devices)";
  vendor.version = "0.1.0";
  vendor.sdk_version = "";
  vendor.flags = DIPU_VENDOR_SIMULATED;
  vendor.initialize = initialize;
  vendor.device = &kDeviceApi;
  vendor.memory = &kMemoryApi;
  vendor.stream = &kStreamApi;
  vendor.event = &kEventApi;
  return vendor;
}

constexpr dipu_vendor kVendor = makeVendor();

}  // namespace
}  // namespace dipu::vendors::null

const dipu_vendor* dipu_vendor_query(uint32_t max_abi_version) {
  if (DIPU_VERSION_MAJOR(max_abi_version) !=
      DIPU_VERSION_MAJOR(DIPU_ABI_VERSION)) {
    return nullptr;
  }
  return &dipu::vendors::null::kVendor;
}
