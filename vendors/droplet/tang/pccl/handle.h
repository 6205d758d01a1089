// SPDX-License-Identifier: Apache-2.0
//
// Handles of communicators. One is never used again, so that a call with a
// handle that has ended is an error.
#pragma once

#include <memory>

#include "vendors/droplet/tang/pccl/communicator.h"

namespace dipu::pccl {

pcclComm_t makeHandle(std::shared_ptr<Communicator> communicator);
// NULL when the handle is none, has ended, or is of the parent process.
std::shared_ptr<Communicator> findCommunicator(pcclComm_t comm);
// The same, and the handle ends.
std::shared_ptr<Communicator> takeCommunicator(pcclComm_t comm);
// The error of `function` when there is none.
pcclResult_t noHandle(const char* function, pcclComm_t comm);

}  // namespace dipu::pccl
