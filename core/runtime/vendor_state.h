// SPDX-License-Identifier: Apache-2.0
//
// What the sources of core/runtime share about the vendor.
#pragma once

#include <c10/core/Device.h>

namespace dipu::runtime::detail {

// Devices that the initialised vendor counted, at most kMaxDevices; 0 before.
// Survives fork.
c10::DeviceIndex countedDevices() noexcept;

// Marks `device` as used, see hasContext.
void markUsed(c10::DeviceIndex device) noexcept;

}  // namespace dipu::runtime::detail
