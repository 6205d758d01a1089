// SPDX-License-Identifier: Apache-2.0
//
// The required tables of this vendor.
#pragma once

#include "core/abi/runtime.h"

namespace dipu::vendors::null {

extern const dipu_device_api kDeviceApi;
extern const dipu_memory_api kMemoryApi;
extern const dipu_stream_api kStreamApi;
extern const dipu_event_api kEventApi;

}  // namespace dipu::vendors::null
