// SPDX-License-Identifier: Apache-2.0
//
// Every call of the vendor's tables, with good arguments.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "core/abi/vendor_api.h"

namespace dipu::vendors::droplet {

// The vendor, with two devices of 64 MiB.
const dipu_vendor& vendor();

// Whether there is no error; prints it otherwise.
bool ok(dipu_error* error);

dipu_stream* makeStream(int32_t device);

// Something of each kind that a call may be about.
struct Handles {
  void* memory = nullptr;
  void* pinned = nullptr;
  dipu_stream* stream = nullptr;
  dipu_event* event = nullptr;
  dipu_graph* graph = nullptr;
  dipu_graph_exec* exec = nullptr;
  dipu_communicator* communicator = nullptr;
};

// Makes one of each, on device 0.
Handles makeHandles();

using Calls = std::map<std::string, std::function<dipu_error*()>>;

// By name, all calls that can fail but those that ask no device: get_current,
// get_unique_id, group_start and group_end.
Calls makeCalls(const Handles& handles);

// Makes all calls that cannot fail.
bool release(const Handles& handles);

}  // namespace dipu::vendors::droplet
