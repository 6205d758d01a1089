// SPDX-License-Identifier: Apache-2.0
//
// The C interface: communicators.
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "vendors/droplet/tang/pccl/communicator.h"
#include "vendors/droplet/tang/pccl/failure.h"
#include "vendors/droplet/tang/pccl/group.h"
#include "vendors/droplet/tang/pccl/handle.h"
#include "vendors/droplet/tang/pccl/pccl.h"
#include "vendors/droplet/tang/pccl/segment.h"

using dipu::pccl::Communicator;
using dipu::pccl::fail;
using dipu::pccl::findCommunicator;
using dipu::pccl::makeHandle;
using dipu::pccl::noHandle;
using dipu::pccl::takeCommunicator;

namespace {

pcclResult_t noOutput(const char* function) {
  return fail(pcclInvalidArgument, "%s: the output is NULL", function);
}

pcclResult_t initRank(pcclComm_t* comm, int ndev, const pcclUniqueId& id,
                      int rank, int device) {
  std::shared_ptr<Communicator> communicator;
  if (pcclResult_t error =
          Communicator::create(id, ndev, rank, device, &communicator)) {
    return error;
  }
  *comm = makeHandle(std::move(communicator));
  return pcclSuccess;
}

// What became of one rank of pcclCommInitAll.
struct Started {
  pcclComm_t comm = nullptr;
  pcclResult_t result = pcclSuccess;
  std::string failure;
};

pcclResult_t checkDevices(int ndev, const int* devlist) {
  int count = 0;
  if (tangError_t error = tangGetDeviceCount(&count)) {
    return dipu::pccl::failOfTang("tangGetDeviceCount", error);
  }
  for (int i = 0; i < ndev; ++i) {
    const int device = devlist == nullptr ? i : devlist[i];
    if (device >= 0 && device < count) continue;
    return fail(pcclInvalidDeviceIndex,
                "pcclCommInitAll: device %d; there are %d", device, count);
  }
  return pcclSuccess;
}

}  // namespace

pcclResult_t pcclGetVersion(int* version) {
  if (version == nullptr) return noOutput("pcclGetVersion");
  *version = 100;
  return pcclSuccess;
}

pcclResult_t pcclGetUniqueId(pcclUniqueId* uniqueId) {
  if (uniqueId == nullptr) return noOutput("pcclGetUniqueId");
  return dipu::pccl::Segment::makeId(uniqueId);
}

pcclResult_t pcclCommInitRank(pcclComm_t* comm, int ndev, pcclUniqueId commId,
                              int rank) {
  if (comm == nullptr) return noOutput("pcclCommInitRank");
  if (dipu::pccl::isGroupOpen()) {
    return fail(pcclInvalidUsage,
                "pcclCommInitRank within a group; use a thread per rank, or "
                "pcclCommInitAll");
  }
  int device = 0;
  int count = 0;
  if (tangError_t error = tangGetDeviceCount(&count)) {
    return dipu::pccl::failOfTang("tangGetDeviceCount", error);
  }
  if (tangError_t error = tangGetDevice(&device)) {
    return dipu::pccl::failOfTang("tangGetDevice", error);
  }
  return initRank(comm, ndev, commId, rank, device);
}

pcclResult_t pcclCommInitAll(pcclComm_t* comms, int ndev, const int* devlist) {
  if (comms == nullptr) return noOutput("pcclCommInitAll");
  if (ndev <= 0) return fail(pcclInvalidArgument, "%d devices", ndev);
  if (pcclResult_t error = checkDevices(ndev, devlist)) return error;
  pcclUniqueId id;
  if (pcclResult_t error = pcclGetUniqueId(&id)) return error;
  std::vector<Started> started(ndev);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ndev; ++rank) {
    threads.emplace_back([&, rank] {
      const int device = devlist == nullptr ? rank : devlist[rank];
      Started& own = started[rank];
      own.result = initRank(&own.comm, ndev, id, rank, device);
      own.failure = dipu::pccl::lastFailure();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Started& failed : started) {
    if (failed.result == pcclSuccess) continue;
    for (const Started& other : started) takeCommunicator(other.comm);
    return fail(failed.result, "%s", failed.failure.c_str());
  }
  for (int rank = 0; rank < ndev; ++rank) comms[rank] = started[rank].comm;
  return pcclSuccess;
}

pcclResult_t pcclCommDestroy(pcclComm_t comm) {
  if (comm == nullptr) return pcclSuccess;
  const std::shared_ptr<Communicator> communicator = takeCommunicator(comm);
  if (communicator == nullptr) return noHandle("pcclCommDestroy", comm);
  if (!communicator->checkDevice()) dipu::pccl::dropWork(*communicator);
  return pcclSuccess;
}

pcclResult_t pcclCommAbort(pcclComm_t comm) {
  const std::shared_ptr<Communicator> communicator = takeCommunicator(comm);
  if (communicator == nullptr) return noHandle("pcclCommAbort", comm);
  communicator->fail(pcclRemoteError, "it has aborted the communicator, " +
                                          communicator->ownState());
  dipu::pccl::dropWork(*communicator);
  return pcclSuccess;
}

pcclResult_t pcclCommGetAsyncError(pcclComm_t comm, pcclResult_t* asyncError) {
  if (asyncError == nullptr) return noOutput("pcclCommGetAsyncError");
  const std::shared_ptr<Communicator> communicator = findCommunicator(comm);
  if (communicator == nullptr) return noHandle("pcclCommGetAsyncError", comm);
  communicator->checkDevice();
  *asyncError = communicator->failure(nullptr);
  return pcclSuccess;
}

const char* pcclGetErrorString(pcclResult_t result) {
  switch (result) {
    case pcclSuccess:
      return "no error";
    case pcclUnhandledTangError:
      return "a call of tang failed";
    case pcclSystemError:
      return "a call of the system failed";
    case pcclInternalError:
      return "internal error";
    case pcclInvalidArgument:
      return "invalid argument";
    case pcclInvalidUsage:
      return "invalid usage";
    case pcclRemoteError:
      return "another rank died, aborted or did not come";
    case pcclInProgress:
      return "operation in progress";
    case pcclInvalidDeviceIndex:
      return "invalid device index";
  }
  return "unknown result";
}

const char* pcclGetLastError(pcclComm_t comm) {
  const std::shared_ptr<Communicator> communicator =
      comm == nullptr ? nullptr : findCommunicator(comm);
  std::string text;
  if (communicator != nullptr) communicator->failure(&text);
  if (!text.empty()) dipu::pccl::setLastFailure(text);
  return dipu::pccl::lastFailure();
}

pcclResult_t pcclCommCount(const pcclComm_t comm, int* count) {
  const std::shared_ptr<Communicator> communicator = findCommunicator(comm);
  if (communicator == nullptr) return noHandle("pcclCommCount", comm);
  if (count == nullptr) return noOutput("pcclCommCount");
  *count = communicator->worldSize();
  return pcclSuccess;
}

pcclResult_t pcclCommCuDevice(const pcclComm_t comm, int* device) {
  const std::shared_ptr<Communicator> communicator = findCommunicator(comm);
  if (communicator == nullptr) return noHandle("pcclCommCuDevice", comm);
  if (device == nullptr) return noOutput("pcclCommCuDevice");
  *device = communicator->device();
  return pcclSuccess;
}

pcclResult_t pcclCommUserRank(const pcclComm_t comm, int* rank) {
  const std::shared_ptr<Communicator> communicator = findCommunicator(comm);
  if (communicator == nullptr) return noHandle("pcclCommUserRank", comm);
  if (rank == nullptr) return noOutput("pcclCommUserRank");
  *rank = communicator->rank();
  return pcclSuccess;
}
