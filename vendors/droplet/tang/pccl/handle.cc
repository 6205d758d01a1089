// SPDX-License-Identifier: Apache-2.0
#include "vendors/droplet/tang/pccl/handle.h"

#include <deque>
#include <mutex>
#include <unordered_set>
#include <utility>

#include "vendors/droplet/tang/pccl/failure.h"

struct pcclComm {
  std::shared_ptr<dipu::pccl::Communicator> communicator;
};

namespace dipu::pccl {
namespace {

// Never destroyed: threads may use handles while the process ends.
struct Handles {
  std::mutex mutex;  // guards all below, and what handles hold
  std::deque<pcclComm> made;
  std::unordered_set<const pcclComm*> live;
};

Handles& handles() {
  static auto* const instance = new Handles;
  return *instance;
}

// A forked child must not take the mutex, which another thread of its parent
// may have held.
bool isUsableProcess() {
  int count = 0;
  return tangGetDeviceCount(&count) == tangSuccess;
}

}  // namespace

pcclComm_t makeHandle(std::shared_ptr<Communicator> communicator) {
  Handles& all = handles();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.made.push_back({std::move(communicator)});
  all.live.insert(&all.made.back());
  return &all.made.back();
}

std::shared_ptr<Communicator> findCommunicator(pcclComm_t comm) {
  if (!isUsableProcess()) return nullptr;
  Handles& all = handles();
  const std::lock_guard<std::mutex> lock(all.mutex);
  return all.live.count(comm) == 0 ? nullptr : comm->communicator;
}

std::shared_ptr<Communicator> takeCommunicator(pcclComm_t comm) {
  if (!isUsableProcess()) return nullptr;
  Handles& all = handles();
  const std::lock_guard<std::mutex> lock(all.mutex);
  if (all.live.erase(comm) == 0) return nullptr;
  return std::exchange(comm->communicator, nullptr);
}

pcclResult_t noHandle(const char* function, pcclComm_t comm) {
  int count = 0;
  if (tangError_t error = tangGetDeviceCount(&count)) {
    return failOfTang(function, error);
  }
  return fail(pcclInvalidArgument,
              "%s: %p is no communicator of this process, or has ended",
              function, static_cast<const void*>(comm));
}

}  // namespace dipu::pccl
