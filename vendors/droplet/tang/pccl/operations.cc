// SPDX-License-Identifier: Apache-2.0
//
// The C interface: collectives, messages and groups.
#include <cstdint>
#include <memory>
#include <utility>

#include "softdevice/softdevice.h"
#include "vendors/droplet/tang/pccl/failure.h"
#include "vendors/droplet/tang/pccl/group.h"
#include "vendors/droplet/tang/pccl/handle.h"
#include "vendors/droplet/tang/pccl/pccl.h"
#include "vendors/droplet/tang/tang_graph.h"
#include "vendors/droplet/tang/tang_kernel.h"

using dipu::pccl::Call;
using dipu::pccl::Communicator;
using dipu::pccl::describe;
using dipu::pccl::fail;
using dipu::pccl::Kind;
using dipu::pccl::nameOf;
using dipu::pccl::Request;

namespace {

constexpr uint64_t kMaxCount = uint64_t{1} << 48;

pcclResult_t checkStream(const Communicator& communicator, Kind kind,
                         tangStream_t handle) {
  soft_stream* stream = nullptr;
  const dim3 one{1, 1, 1};
  if (tangError_t error =
          tangCheckLaunch(&one, &one, nullptr, 0, 0, handle, &stream)) {
    return dipu::pccl::failOfTang(nameOf(kind), error);
  }
  if (soft_stream_device(stream) != communicator.device()) {
    return fail(pcclInvalidArgument,
                "%s: the stream is of device %d, the communicator of %d",
                nameOf(kind), soft_stream_device(stream),
                communicator.device());
  }
  tangStreamCaptureStatus status = tangStreamCaptureStatusNone;
  if (tangError_t error = tangStreamIsCapturing(handle, &status)) {
    return dipu::pccl::failOfTang("tangStreamIsCapturing", error);
  }
  if (status != tangStreamCaptureStatusNone) {
    return fail(pcclInvalidUsage, "%s cannot be captured", nameOf(kind));
  }
  return pcclSuccess;
}

pcclResult_t checkCall(const Communicator& communicator, const Call& call) {
  const bool has_rank = call.root >= 0 && call.root < communicator.worldSize();
  if (dipu::pccl::sizeOf(call.dtype) == 0 ||
      !dipu::pccl::isOperation(call.op) || !has_rank ||
      call.count > kMaxCount) {
    return fail(pcclInvalidArgument,
                "%s: count %llu, type %d, reduction %d, rank %d of %d",
                nameOf(call.kind), static_cast<unsigned long long>(call.count),
                call.dtype, call.op, call.root, communicator.worldSize());
  }
  return pcclSuccess;
}

// Checks a request whose sizes are multiples of the call's count, which they
// become bytes of, and submits it.
pcclResult_t checkAndSubmit(pcclComm_t comm, Request request) {
  Call& call = request.operation.call;
  request.communicator = dipu::pccl::findCommunicator(comm);
  if (request.communicator == nullptr) {
    return dipu::pccl::noHandle(nameOf(call.kind), comm);
  }
  Communicator& communicator = *request.communicator;
  if (pcclResult_t error = checkCall(communicator, call)) return error;
  if (pcclResult_t error =
          checkStream(communicator, call.kind, request.stream)) {
    return error;
  }
  const std::size_t bytes = call.count * dipu::pccl::sizeOf(call.dtype);
  request.send_bytes *= bytes;
  request.recv_bytes *= bytes;
  if ((request.send_bytes != 0 && request.operation.send == nullptr) ||
      (request.recv_bytes != 0 && request.operation.recv == nullptr)) {
    return fail(pcclInvalidArgument, "%s: a buffer is NULL",
                describe(call).c_str());
  }
  std::string text;
  if (pcclResult_t error = communicator.failure(&text)) {
    return fail(error, "%s: the communicator has failed: %s", nameOf(call.kind),
                text.c_str());
  }
  return dipu::pccl::submit(std::move(request));
}

struct Buffers {
  const void* send;
  std::size_t send_parts;  // of `count` elements
  void* recv;
  std::size_t recv_parts;
};

pcclResult_t call(Kind kind, const Buffers& buffers, std::size_t count,
                  pcclDataType_t dtype, int op, int root, pcclComm_t comm,
                  tangStream_t stream) {
  Request request;
  request.stream = stream;
  request.operation.call = {kind, dtype, op, root, count, 0};
  request.operation.send = static_cast<const char*>(buffers.send);
  request.operation.recv = static_cast<char*>(buffers.recv);
  request.send_bytes = buffers.send_parts;
  request.recv_bytes = buffers.recv_parts;
  return dipu::pccl::spoilGroup(checkAndSubmit(comm, std::move(request)));
}

// Ranks of the communicator, and whether it is this one; harmless values for a
// handle that call() refuses.
std::size_t ranksOf(pcclComm_t comm) {
  const auto communicator = dipu::pccl::findCommunicator(comm);
  return communicator == nullptr ? 1 : communicator->worldSize();
}

bool isRank(pcclComm_t comm, int rank) {
  const auto communicator = dipu::pccl::findCommunicator(comm);
  return communicator != nullptr && communicator->rank() == rank;
}

}  // namespace

pcclResult_t pcclAllReduce(const void* sendbuff, void* recvbuff, size_t count,
                           pcclDataType_t datatype, pcclRedOp_t op,
                           pcclComm_t comm, tangStream_t stream) {
  return call(Kind::kAllReduce, {sendbuff, 1, recvbuff, 1}, count, datatype, op,
              0, comm, stream);
}

pcclResult_t pcclBroadcast(const void* sendbuff, void* recvbuff, size_t count,
                           pcclDataType_t datatype, int root, pcclComm_t comm,
                           tangStream_t stream) {
  const std::size_t send_parts = isRank(comm, root) ? 1 : 0;
  return call(Kind::kBroadcast, {sendbuff, send_parts, recvbuff, 1}, count,
              datatype, 0, root, comm, stream);
}

pcclResult_t pcclReduce(const void* sendbuff, void* recvbuff, size_t count,
                        pcclDataType_t datatype, pcclRedOp_t op, int root,
                        pcclComm_t comm, tangStream_t stream) {
  const std::size_t recv_parts = isRank(comm, root) ? 1 : 0;
  return call(Kind::kReduce, {sendbuff, 1, recvbuff, recv_parts}, count,
              datatype, op, root, comm, stream);
}

pcclResult_t pcclReduceScatter(const void* sendbuff, void* recvbuff,
                               size_t recvcount, pcclDataType_t datatype,
                               pcclRedOp_t op, pcclComm_t comm,
                               tangStream_t stream) {
  return call(Kind::kReduceScatter, {sendbuff, ranksOf(comm), recvbuff, 1},
              recvcount, datatype, op, 0, comm, stream);
}

pcclResult_t pcclAllGather(const void* sendbuff, void* recvbuff, size_t count,
                           pcclDataType_t datatype, pcclComm_t comm,
                           tangStream_t stream) {
  return call(Kind::kAllGather, {sendbuff, 1, recvbuff, ranksOf(comm)}, count,
              datatype, 0, 0, comm, stream);
}

pcclResult_t pcclSend(const void* sendbuff, size_t count,
                      pcclDataType_t datatype, int peer, pcclComm_t comm,
                      tangStream_t stream) {
  return call(Kind::kSend, {sendbuff, 1, nullptr, 0}, count, datatype, 0, peer,
              comm, stream);
}

pcclResult_t pcclRecv(void* recvbuff, size_t count, pcclDataType_t datatype,
                      int peer, pcclComm_t comm, tangStream_t stream) {
  return call(Kind::kRecv, {nullptr, 0, recvbuff, 1}, count, datatype, 0, peer,
              comm, stream);
}

pcclResult_t pcclGroupStart(void) {
  dipu::pccl::startGroup();
  return pcclSuccess;
}

pcclResult_t pcclGroupEnd(void) { return dipu::pccl::endGroup(); }
