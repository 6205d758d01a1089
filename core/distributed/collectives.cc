// SPDX-License-Identifier: Apache-2.0
#include "core/distributed/collectives.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <utility>

#include "core/distributed/element_type.h"

namespace dipu::distributed {
namespace {

// A tensor as contiguous memory that a collective writes: itself, or a copy
// that is put back by store().
class Dense {
 public:
  explicit Dense(at::Tensor& target)
      : target_(target), flat_(target.contiguous()) {}
  at::Tensor& operator*() { return flat_; }
  at::Tensor* operator->() { return &flat_; }
  void store() {
    if (!flat_.is_same(target_)) target_.copy_(flat_);
  }

 private:
  at::Tensor& target_;
  at::Tensor flat_;
};

std::size_t wordsOf(const at::Tensor& tensor, const Wire& wire) {
  return static_cast<std::size_t>(tensor.numel()) * wire.words;
}

}  // namespace

void Collectives::allReduce(at::Tensor& tensor, const c10d::ReduceOp& op) {
  const Reduction reduction = planReduction(op, tensor.scalar_type());
  if (tensor.numel() == 0) return;
  Dense dense(tensor);
  at::Tensor recv = viewFor(reduction, *dense);
  allReduceFlat(reduction, viewFor(reduction, multiplied(reduction, *dense)),
                recv);
  finishReduction(reduction, recv, communicator_.size());
  dense.store();
}

void Collectives::allReduceFlat(const Reduction& reduction,
                                const at::Tensor& send, at::Tensor& recv) {
  if (!reduction.is_native) return combineAll(reduction, send, recv);
  communicator_.allReduce(send.data_ptr(), recv.data_ptr(), send.numel(),
                          *dtypeOf(reduction.type), reduction.vendor_op,
                          stream_);
}

void Collectives::reduce(at::Tensor& tensor, const c10d::ReduceOp& op,
                         int root) {
  const Reduction reduction = planReduction(op, tensor.scalar_type());
  if (tensor.numel() == 0) return;
  const bool is_root = communicator_.rank() == root;
  Dense dense(tensor);
  const at::Tensor send = viewFor(reduction, multiplied(reduction, *dense));
  // Others must keep what they have, whatever the vendor does with it.
  at::Tensor recv = is_root ? viewFor(reduction, *dense) : send;
  if (!reduction.is_native) {
    recv = is_root ? recv : at::empty_like(send);
    combineAll(reduction, send, recv);
  } else {
    communicator_.reduce(send.data_ptr(), is_root ? recv.data_ptr() : nullptr,
                         send.numel(), *dtypeOf(reduction.type),
                         reduction.vendor_op, root, stream_);
  }
  if (!is_root) return;
  finishReduction(reduction, recv, communicator_.size());
  dense.store();
}

void Collectives::reduceScatter(at::Tensor& output, const at::Tensor& input,
                                const c10d::ReduceOp& op) {
  const Reduction reduction = planReduction(op, output.scalar_type());
  if (output.numel() == 0) return;
  Dense dense(output);
  at::Tensor recv = viewFor(reduction, *dense);
  const at::Tensor send =
      viewFor(reduction, multiplied(reduction, input.contiguous()));
  reduceScatterFlat(reduction, send, recv);
  finishReduction(reduction, recv, communicator_.size());
  dense.store();
}

void Collectives::reduceScatterFlat(const Reduction& reduction,
                                    const at::Tensor& send, at::Tensor& recv) {
  if (!reduction.is_native) return combineScatter(reduction, send, recv);
  communicator_.reduceScatter(send.data_ptr(), recv.data_ptr(), recv.numel(),
                              *dtypeOf(reduction.type), reduction.vendor_op,
                              stream_);
}

void Collectives::combineScatter(const Reduction& reduction,
                                 const at::Tensor& send, at::Tensor& recv) {
  at::Tensor parts = at::empty_like(send);
  allToAllEqual(parts, send);
  recv.copy_(combined(reduction, parts.view({communicator_.size(), -1})));
}

void Collectives::combineAll(const Reduction& reduction, const at::Tensor& send,
                             at::Tensor& recv) {
  const int64_t count = send.numel();
  const int64_t part =
      (count + communicator_.size() - 1) / communicator_.size();
  // What is behind `count` is combined, too, and dropped.
  at::Tensor padded = at::empty({part * communicator_.size()}, send.options());
  padded.narrow(0, 0, count).copy_(send);
  at::Tensor own = at::empty({part}, send.options());
  combineScatter(reduction, padded, own);
  allGather(padded, own);
  recv.copy_(padded.narrow(0, 0, count));
}

void Collectives::broadcast(at::Tensor& tensor, int root) {
  if (tensor.numel() == 0) return;
  const Wire wire = wireOf(tensor.scalar_type());
  Dense dense(tensor);
  communicator_.broadcast(dense->data_ptr(), wordsOf(tensor, wire), wire.dtype,
                          root, stream_);
  if (communicator_.rank() != root) dense.store();
}

void Collectives::allGather(at::Tensor& output, const at::Tensor& input) {
  if (input.numel() == 0) return;
  const Wire wire = wireOf(input.scalar_type());
  Dense dense(output);
  const at::Tensor send = input.contiguous();
  communicator_.allGather(send.data_ptr(), dense->data_ptr(),
                          wordsOf(send, wire), wire.dtype, stream_);
  dense.store();
}

void Collectives::allToAllEqual(at::Tensor& output, const at::Tensor& input) {
  if (Communicator::hasAllToAll()) {
    const Wire wire = wireOf(input.scalar_type());
    communicator_.allToAll(input.data_ptr(), output.data_ptr(),
                           wordsOf(input, wire) / communicator_.size(),
                           wire.dtype, stream_);
    return;
  }
  const std::vector<int64_t> counts(communicator_.size(),
                                    input.numel() / communicator_.size());
  allToAllUneven(output, input, counts, counts);
}

void Collectives::allToAllUneven(at::Tensor& output, const at::Tensor& input,
                                 const std::vector<int64_t>& output_counts,
                                 const std::vector<int64_t>& input_counts) {
  const at::Tensor send = input.view({-1});
  const at::Tensor recv = output.view({-1});
  std::vector<Message> messages;
  int64_t sent = 0;
  int64_t received = 0;
  for (int peer = 0; peer < communicator_.size(); ++peer) {
    messages.push_back({send.narrow(0, sent, input_counts[peer]), peer, true});
    messages.push_back(
        {recv.narrow(0, received, output_counts[peer]), peer, false});
    sent += input_counts[peer];
    received += output_counts[peer];
  }
  exchange(std::move(messages));
}

void Collectives::allToAll(at::Tensor& output, const at::Tensor& input,
                           const std::vector<int64_t>& output_counts,
                           const std::vector<int64_t>& input_counts) {
  Dense dense(output);
  if (output_counts.empty() && input_counts.empty()) {
    if (input.numel() != 0) allToAllEqual(*dense, input.contiguous());
  } else {
    allToAllUneven(*dense, input.contiguous(), output_counts, input_counts);
  }
  dense.store();
}

void Collectives::exchange(std::vector<Message> messages) {
  std::vector<std::pair<at::Tensor, at::Tensor>> to_store;
  for (Message& message : messages) {
    if (message.tensor.is_contiguous()) continue;
    const at::Tensor flat = message.tensor.contiguous();
    if (!message.is_send) to_store.emplace_back(message.tensor, flat);
    message.tensor = flat;
  }
  copyOwn(messages);
  issue(messages);
  for (auto& [target, flat] : to_store) target.copy_(flat);
}

void Collectives::issue(const std::vector<Message>& messages) {
  Communicator::Group group;
  for (const Message& message : messages) {
    if (message.tensor.numel() == 0 || message.peer == communicator_.rank()) {
      continue;
    }
    const Wire wire = wireOf(message.tensor.scalar_type());
    const std::size_t words = wordsOf(message.tensor, wire);
    void* data = message.tensor.data_ptr();
    if (message.is_send) {
      communicator_.send(data, words, wire.dtype, message.peer, stream_);
    } else {
      communicator_.recv(data, words, wire.dtype, message.peer, stream_);
    }
  }
  group.end();
}

void Collectives::copyOwn(const std::vector<Message>& messages) {
  std::vector<at::Tensor> sent;
  std::vector<at::Tensor> received;
  for (const Message& message : messages) {
    if (message.peer != communicator_.rank()) continue;
    (message.is_send ? sent : received).push_back(message.tensor);
  }
  TORCH_CHECK_VALUE(sent.size() == received.size(), "rank ",
                    communicator_.rank(), " sends ", sent.size(),
                    " messages to itself and receives ", received.size(),
                    " of them; both must be in one batch_isend_irecv");
  for (std::size_t i = 0; i < sent.size(); ++i) {
    received[i].view({-1}).copy_(sent[i].view({-1}));
  }
}

}  // namespace dipu::distributed
