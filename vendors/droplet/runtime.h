// SPDX-License-Identifier: Apache-2.0
//
// droplet's tables, implemented with the tang runtime.
#pragma once

#include "core/abi/communicator.h"
#include "core/abi/graph.h"
#include "core/abi/ipc.h"
#include "core/abi/runtime.h"

namespace dipu::vendors::droplet {

extern const dipu_device_api kDeviceApi;
extern const dipu_memory_api kMemoryApi;
extern const dipu_stream_api kStreamApi;
extern const dipu_event_api kEventApi;
extern const dipu_communicator_api kCommunicatorApi;
extern const dipu_graph_api kGraphApi;
extern const dipu_ipc_api kIpcApi;

}  // namespace dipu::vendors::droplet
