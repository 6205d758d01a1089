// SPDX-License-Identifier: Apache-2.0
//
// droplet's required tables, implemented with the tang runtime.
#pragma once

#include "core/abi/runtime.h"

namespace dipu::vendors::droplet {

extern const dipu_device_api kDeviceApi;
extern const dipu_memory_api kMemoryApi;
extern const dipu_stream_api kStreamApi;
extern const dipu_event_api kEventApi;

}  // namespace dipu::vendors::droplet
