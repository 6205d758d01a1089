// SPDX-License-Identifier: Apache-2.0
//
// What a stream runs for a communicator: one collective, or messages that
// proceed together. Addresses are those of the memory.
#pragma once

#include <vector>

#include "vendors/droplet/tang/pccl/call.h"
#include "vendors/droplet/tang/pccl/communicator.h"

namespace dipu::pccl {

struct Operation {
  Call call;
  const char* send = nullptr;  // NULL where the rank sends nothing
  char* recv = nullptr;        // NULL where it receives nothing
};

// Both return early when the communicator fails.
void runCollective(Communicator& communicator, const Operation& operation);
void runMessages(Communicator& communicator,
                 const std::vector<Operation>& operations);

}  // namespace dipu::pccl
