// SPDX-License-Identifier: Apache-2.0
//
// Collectives, by PCCL. It has no all-to-all, which the host makes of messages.
#include "core/abi/communicator.h"

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>

#include "core/plugin_kit/error.h"
#include "core/plugin_kit/guard.h"
#include "core/plugin_kit/table.h"
#include "vendors/droplet/context.h"
#include "vendors/droplet/runtime.h"
#include "vendors/droplet/status.h"
#include "vendors/droplet/tang/pccl/pccl.h"

struct dipu_communicator {
  pcclComm_t comm = nullptr;  // ends when it is aborted
  std::atomic<bool> is_aborted{false};
};

namespace dipu::vendors::droplet {
namespace {

using plugin_kit::kGuarded;
using plugin_kit::makeError;

dipu_status_code codeOf(pcclResult_t result) {
  switch (result) {
    case pcclSuccess:
      return DIPU_OK;
    case pcclInvalidArgument:
    case pcclInvalidDeviceIndex:
      return DIPU_INVALID_ARGUMENT;
    // Ranks that disagree, among others.
    case pcclInvalidUsage:
    case pcclInProgress:
      return DIPU_FAILED_PRECONDITION;
    case pcclRemoteError:
      return DIPU_ABORTED;
    case pcclSystemError:
      return DIPU_UNAVAILABLE;
    case pcclUnhandledTangError:
    case pcclInternalError:
      return DIPU_INTERNAL;
  }
  return DIPU_UNKNOWN;
}

// `comm` is the one that failed, NULL when the call did.
dipu_error* checkCall(pcclResult_t result, const char* call,
                      pcclComm_t comm = nullptr) {
  if (result == pcclSuccess) return nullptr;
  return makeError(codeOf(result), result, "%s failed: %s (%s)", call,
                   pcclGetLastError(comm), pcclGetErrorString(result));
}

dipu_error* checkUsable(const dipu_communicator* communicator) {
  if (!communicator->is_aborted) return nullptr;
  return makeError(DIPU_ABORTED, pcclRemoteError,
                   "the communicator has been aborted by its own process");
}

// PCCL's numbers are neither those of DIOPI nor those of NCCL.
constexpr struct {
  dipu_dtype dtype;
  pcclDataType_t sdk_type;
} kTypes[] = {
    {DIPU_DTYPE_INT8, pcclInt8},         {DIPU_DTYPE_UINT8, pcclUint8},
    {DIPU_DTYPE_INT32, pcclInt32},       {DIPU_DTYPE_UINT32, pcclUint32},
    {DIPU_DTYPE_INT64, pcclInt64},       {DIPU_DTYPE_UINT64, pcclUint64},
    {DIPU_DTYPE_FLOAT16, pcclHalf},      {DIPU_DTYPE_FLOAT32, pcclFloat},
    {DIPU_DTYPE_BFLOAT16, pcclBfloat16},
};

dipu_error* typeOf(dipu_dtype dtype, pcclDataType_t* out_type) {
  for (const auto& type : kTypes) {
    if (type.dtype != dtype) continue;
    *out_type = type.sdk_type;
    return nullptr;
  }
  return makeError(DIPU_UNIMPLEMENTED, 0, "PCCL has no type for dipu_dtype %d",
                   dtype);
}

constexpr uint64_t supportedTypes() {
  uint64_t types = 0;
  for (const auto& type : kTypes) types |= uint64_t{1} << type.dtype;
  return types;
}

constexpr uint64_t kReductions = 0x1f;

// Runs `call(type)`, a function of PCCL, on a communicator that lives.
template <typename Call>
dipu_error* run(const char* name, dipu_communicator* communicator,
                dipu_dtype dtype, Call call) {
  if (dipu_error* error = checkUsable(communicator)) return error;
  pcclDataType_t type = pcclInt8;
  if (dipu_error* error = typeOf(dtype, &type)) return error;
  return checkCall(call(type), name);
}

// The same for a reduction, whose numbers are those of the contract.
template <typename Call>
dipu_error* runReduction(const char* name, dipu_communicator* communicator,
                         dipu_dtype dtype, dipu_reduce_op op, Call call) {
  if (op < 0 || op > DIPU_REDUCE_AVG) {
    return makeError(DIPU_UNIMPLEMENTED, 0, "PCCL has no reduction %d", op);
  }
  return run(name, communicator, dtype, [&](pcclDataType_t type) {
    return call(type, static_cast<pcclRedOp_t>(op));
  });
}

dipu_error* getUniqueId(void* out_id) {
  pcclUniqueId id;
  if (dipu_error* error = checkCall(pcclGetUniqueId(&id), "pcclGetUniqueId")) {
    return error;
  }
  std::memcpy(out_id, &id, sizeof(id));
  return nullptr;
}

dipu_error* create(const dipu_communicator_create_args* args,
                   dipu_communicator** out_communicator) {
  pcclUniqueId id;
  std::memcpy(&id, args->unique_id, sizeof(id));
  auto communicator = std::make_unique<dipu_communicator>();
  pcclResult_t result = pcclSuccess;
  const tangError_t status = onDevice(args->device, [&] {
    result =
        pcclCommInitRank(&communicator->comm, args->world_size, id, args->rank);
    return tangSuccess;
  });
  if (dipu_error* error =
          check(status, "a communicator on device %d", args->device)) {
    return error;
  }
  if (dipu_error* error = checkCall(result, "pcclCommInitRank")) return error;
  *out_communicator = communicator.release();
  return nullptr;
}

void destroy(dipu_communicator* communicator) {
  if (communicator == nullptr) return;
  if (!communicator->is_aborted) pcclCommDestroy(communicator->comm);
  delete communicator;
}

void abortAll(dipu_communicator* communicator) {
  if (communicator == nullptr || communicator->is_aborted.exchange(true)) {
    return;
  }
  pcclCommAbort(communicator->comm);
}

dipu_error* getAsyncError(dipu_communicator* communicator) {
  if (dipu_error* error = checkUsable(communicator)) return error;
  pcclResult_t result = pcclSuccess;
  if (dipu_error* error =
          checkCall(pcclCommGetAsyncError(communicator->comm, &result),
                    "pcclCommGetAsyncError")) {
    return error;
  }
  return checkCall(result, "a collective", communicator->comm);
}

dipu_error* allReduce(dipu_communicator* communicator, const void* send,
                      void* recv, size_t count, dipu_dtype dtype,
                      dipu_reduce_op op, dipu_stream* stream) {
  return runReduction("pcclAllReduce", communicator, dtype, op,
                      [&](pcclDataType_t type, pcclRedOp_t reduction) {
                        return pcclAllReduce(send, recv, count, type, reduction,
                                             communicator->comm,
                                             sdkHandle(stream));
                      });
}

dipu_error* broadcast(dipu_communicator* communicator, const void* send,
                      void* recv, size_t count, dipu_dtype dtype, int32_t root,
                      dipu_stream* stream) {
  return run("pcclBroadcast", communicator, dtype, [&](pcclDataType_t type) {
    return pcclBroadcast(send, recv, count, type, root, communicator->comm,
                         sdkHandle(stream));
  });
}

dipu_error* reduce(dipu_communicator* communicator, const void* send,
                   void* recv, size_t count, dipu_dtype dtype,
                   dipu_reduce_op op, int32_t root, dipu_stream* stream) {
  return runReduction("pcclReduce", communicator, dtype, op,
                      [&](pcclDataType_t type, pcclRedOp_t reduction) {
                        return pcclReduce(send, recv, count, type, reduction,
                                          root, communicator->comm,
                                          sdkHandle(stream));
                      });
}

dipu_error* allGather(dipu_communicator* communicator, const void* send,
                      void* recv, size_t send_count, dipu_dtype dtype,
                      dipu_stream* stream) {
  return run("pcclAllGather", communicator, dtype, [&](pcclDataType_t type) {
    return pcclAllGather(send, recv, send_count, type, communicator->comm,
                         sdkHandle(stream));
  });
}

dipu_error* reduceScatter(dipu_communicator* communicator, const void* send,
                          void* recv, size_t recv_count, dipu_dtype dtype,
                          dipu_reduce_op op, dipu_stream* stream) {
  return runReduction("pcclReduceScatter", communicator, dtype, op,
                      [&](pcclDataType_t type, pcclRedOp_t reduction) {
                        return pcclReduceScatter(send, recv, recv_count, type,
                                                 reduction, communicator->comm,
                                                 sdkHandle(stream));
                      });
}

// PCCL wants messages in groups, which nest.
template <typename Call>
pcclResult_t grouped(Call call) {
  if (pcclResult_t error = pcclGroupStart()) return error;
  const pcclResult_t result = call();
  const pcclResult_t ended = pcclGroupEnd();
  return result == pcclSuccess ? ended : result;
}

dipu_error* send(dipu_communicator* communicator, const void* buffer,
                 size_t count, dipu_dtype dtype, int32_t peer,
                 dipu_stream* stream) {
  return run("pcclSend", communicator, dtype, [&](pcclDataType_t type) {
    return grouped([&] {
      return pcclSend(buffer, count, type, peer, communicator->comm,
                      sdkHandle(stream));
    });
  });
}

dipu_error* recv(dipu_communicator* communicator, void* buffer, size_t count,
                 dipu_dtype dtype, int32_t peer, dipu_stream* stream) {
  return run("pcclRecv", communicator, dtype, [&](pcclDataType_t type) {
    return grouped([&] {
      return pcclRecv(buffer, count, type, peer, communicator->comm,
                      sdkHandle(stream));
    });
  });
}

dipu_error* groupStart() {
  return checkCall(pcclGroupStart(), "pcclGroupStart");
}
dipu_error* groupEnd() { return checkCall(pcclGroupEnd(), "pcclGroupEnd"); }

constexpr dipu_communicator_api makeCommunicatorApi() {
  auto api = plugin_kit::makeTable<dipu_communicator_api>(
      DIPU_COMMUNICATOR_API_VERSION);
  api.unique_id_size = sizeof(pcclUniqueId);
  api.supported_reduce_ops = kReductions;
  api.supported_dtypes = supportedTypes();
  api.get_unique_id = kGuarded<getUniqueId>;
  api.create = kGuarded<create>;
  api.destroy = kGuarded<destroy>;
  api.abort = kGuarded<abortAll>;
  api.get_async_error = kGuarded<getAsyncError>;
  api.all_reduce = kGuarded<allReduce>;
  api.broadcast = kGuarded<broadcast>;
  api.reduce = kGuarded<reduce>;
  api.all_gather = kGuarded<allGather>;
  api.reduce_scatter = kGuarded<reduceScatter>;
  api.send = kGuarded<send>;
  api.recv = kGuarded<recv>;
  api.group_start = kGuarded<groupStart>;
  api.group_end = kGuarded<groupEnd>;
  return api;
}

}  // namespace

constexpr dipu_communicator_api kCommunicatorApi = makeCommunicatorApi();

}  // namespace dipu::vendors::droplet
