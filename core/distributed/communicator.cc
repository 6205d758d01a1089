// SPDX-License-Identifier: Apache-2.0
#include "core/distributed/communicator.h"

#include <c10/util/Exception.h>

#include "core/loader/text.h"
#include "core/runtime/error.h"
#include "core/runtime/vendor.h"
#include "core/vendor_call/call.h"

namespace dipu::distributed {
namespace {

using runtime::check;
using runtime::StreamRecord;
using vendor_call::call;

bool hasBit(uint64_t bits, int32_t index) {
  return index >= 0 && index < 64 && ((bits >> index) & 1) != 0;
}

}  // namespace

const dipu_communicator_api& communicatorApi() {
  runtime::ensureInitialized();
  const dipu_communicator_api* api = runtime::vendorLibrary().communicator();
  TORCH_CHECK_NOT_IMPLEMENTED(
      api != nullptr, "the vendor ", runtime::vendor().name,
      " offers no collectives that this version can use, so its devices cannot "
      "form a group of their own; use the backend \"gloo\", which exchanges "
      "tensors through the host");
  return *api;
}

std::string Communicator::newUniqueId() {
  const dipu_communicator_api& api = communicatorApi();
  std::string id(api.unique_id_size, '\0');
  check(call("communicator.get_unique_id", api.get_unique_id,
             static_cast<void*>(id.data())));
  return id;
}

Communicator::Communicator(c10::DeviceIndex device, int rank, int size,
                           const std::string& unique_id)
    : device_(device), rank_(rank), size_(size) {
  const dipu_communicator_api& api = communicatorApi();
  TORCH_CHECK(unique_id.size() == api.unique_id_size, "the vendor ",
              runtime::vendor().name, " identifies communicators by ",
              api.unique_id_size, " bytes, but rank 0 sent ", unique_id.size(),
              "; all ranks must use the same version of the vendor's library");
  dipu_communicator_create_args args{};
  args.struct_size = sizeof(args);
  args.device = device;
  args.rank = rank;
  args.world_size = size;
  args.unique_id = unique_id.data();
  check(call("communicator.create", api.create, &args, &handle_), device);
}

Communicator::~Communicator() {
  if (!runtime::isInitialized()) return;
  runtime::succeeded(
      call("communicator.destroy", communicatorApi().destroy, handle_),
      "destroying a communicator");
}

void Communicator::abort() noexcept {
  if (!runtime::isInitialized()) return;
  runtime::succeeded(
      call("communicator.abort", runtime::vendorLibrary().communicator()->abort,
           handle_),
      "aborting a communicator");
}

std::string Communicator::asyncError() {
  dipu_error* error = call("communicator.get_async_error",
                           communicatorApi().get_async_error, handle_);
  if (error == nullptr) return "";
  return loader::takeError(error).text;
}

bool Communicator::hasType(dipu_dtype dtype) {
  return hasBit(communicatorApi().supported_dtypes, dtype);
}

bool Communicator::hasReduction(dipu_reduce_op op) {
  return hasBit(communicatorApi().supported_reduce_ops, op);
}

bool Communicator::hasAllToAll() {
  const dipu_communicator_api& api = communicatorApi();
  return DIPU_HAS(&api, all_to_all);
}

void Communicator::allReduce(const void* send, void* recv, std::size_t count,
                             dipu_dtype dtype, dipu_reduce_op op,
                             const StreamRecord& stream) {
  check(call("communicator.all_reduce", communicatorApi().all_reduce, handle_,
             send, recv, count, dtype, op, stream.handle),
        device_);
}

void Communicator::reduce(const void* send, void* recv, std::size_t count,
                          dipu_dtype dtype, dipu_reduce_op op, int root,
                          const StreamRecord& stream) {
  check(call("communicator.reduce", communicatorApi().reduce, handle_, send,
             recv, count, dtype, op, root, stream.handle),
        device_);
}

void Communicator::reduceScatter(const void* send, void* recv,
                                 std::size_t count, dipu_dtype dtype,
                                 dipu_reduce_op op,
                                 const StreamRecord& stream) {
  check(call("communicator.reduce_scatter", communicatorApi().reduce_scatter,
             handle_, send, recv, count, dtype, op, stream.handle),
        device_);
}

void Communicator::broadcast(void* buffer, std::size_t count, dipu_dtype dtype,
                             int root, const StreamRecord& stream) {
  check(call("communicator.broadcast", communicatorApi().broadcast, handle_,
             static_cast<const void*>(buffer), buffer, count, dtype, root,
             stream.handle),
        device_);
}

void Communicator::allGather(const void* send, void* recv, std::size_t count,
                             dipu_dtype dtype, const StreamRecord& stream) {
  check(call("communicator.all_gather", communicatorApi().all_gather, handle_,
             send, recv, count, dtype, stream.handle),
        device_);
}

void Communicator::allToAll(const void* send, void* recv, std::size_t count,
                            dipu_dtype dtype, const StreamRecord& stream) {
  check(call("communicator.all_to_all", communicatorApi().all_to_all, handle_,
             send, recv, count, dtype, stream.handle),
        device_);
}

void Communicator::send(const void* buffer, std::size_t count, dipu_dtype dtype,
                        int peer, const StreamRecord& stream) {
  check(call("communicator.send", communicatorApi().send, handle_, buffer,
             count, dtype, peer, stream.handle),
        device_);
}

void Communicator::recv(void* buffer, std::size_t count, dipu_dtype dtype,
                        int peer, const StreamRecord& stream) {
  check(call("communicator.recv", communicatorApi().recv, handle_, buffer,
             count, dtype, peer, stream.handle),
        device_);
}

Communicator::Group::Group() {
  check(call("communicator.group_start", communicatorApi().group_start));
}

Communicator::Group::~Group() {
  if (!is_open_) return;
  runtime::succeeded(
      call("communicator.group_end", communicatorApi().group_end),
      "ending a group of messages after an error");
}

void Communicator::Group::end() {
  is_open_ = false;
  check(call("communicator.group_end", communicatorApi().group_end));
}

}  // namespace dipu::distributed
