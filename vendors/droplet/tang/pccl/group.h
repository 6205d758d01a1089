// SPDX-License-Identifier: Apache-2.0
//
// Groups of calls, and how calls become work of streams.
#pragma once

#include <cstddef>
#include <memory>

#include "vendors/droplet/tang/pccl/communicator.h"
#include "vendors/droplet/tang/pccl/work.h"

namespace dipu::pccl {

struct Request {
  std::shared_ptr<Communicator> communicator;
  tangStream_t stream = nullptr;
  Operation operation;  // with device addresses
  std::size_t send_bytes = 0;
  std::size_t recv_bytes = 0;
};

// Enqueues it, at the end of the thread's group if there is one.
pcclResult_t submit(Request request);
// The communicator has failed: forgets its work that has not begun.
void dropWork(const Communicator& communicator);
// Returns the code. If it is an error, nothing of the thread's group happens.
pcclResult_t spoilGroup(pcclResult_t code);

bool isGroupOpen();
void startGroup();
pcclResult_t endGroup();

}  // namespace dipu::pccl
