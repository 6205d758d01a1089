// SPDX-License-Identifier: Apache-2.0
//
// Every call that needs a device, with good arguments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "softdevice/soft_debug.h"
#include "softdevice/soft_graph.h"
#include "softdevice/soft_ipc.h"
#include "softdevice/soft_virtual_memory.h"
#include "softdevice/softdevice.h"

namespace dipu::softdevice {

// Something of each kind that a call may be about.
struct Handles {
  void* memory = nullptr;
  void* pinned = nullptr;
  void* reserved = nullptr;
  soft_vm_memory physical = 0;
  soft_stream* stream = nullptr;
  soft_event* event = nullptr;
  soft_event* shared_event = nullptr;
  soft_ipc_handle handle{};
  soft_graph* graph = nullptr;
  soft_graph_exec* exec = nullptr;
};

// Makes one of each, on device 0.
Handles makeHandles();
// Ends those that soft_device_reset does not.
void destroyHandles(const Handles& handles);

// Every output is an object of this kind, which no call may write to.
union Output {
  char bytes[256];
  std::size_t sizes[2];
  int32_t number;
  double real;
  void* pointer;
  soft_stream* stream;
  soft_event* event;
  soft_graph* graph;
  soft_graph_exec* exec;
  soft_device_info device;
  soft_pointer_info info;
  soft_ipc_handle handle;
  soft_vm_memory memory;
  soft_vm_access access;
  soft_fault_info fault;
  soft_capture_status capture;
  uint64_t count;
};

// The calls by name.
using Calls = std::map<std::string, std::function<soft_status()>>;
// `out` must outlive them.
Calls makeCalls(const Handles& handles, Output* out);

}  // namespace dipu::softdevice
