// SPDX-License-Identifier: Apache-2.0
//
// Operations that are made of messages between two ranks.
#include <c10/util/Exception.h>
#include <c10/util/StringUtil.h>

#include <utility>

#include "core/distributed/process_group.h"
#include "core/distributed/tensor_checks.h"

namespace dipu::distributed {

using c10d::OpType;

ProcessGroupDICL::Work ProcessGroupDICL::exchange(
    Call call, std::vector<Message> messages) {
  return run(std::move(call), [&](Collectives& collectives) {
    collectives.exchange(std::move(messages));
  });
}

ProcessGroupDICL::Work ProcessGroupDICL::gather(
    TensorLists& outputs, Tensors& inputs, const c10d::GatherOptions& opts) {
  const at::Tensor input = single(inputs, "gather");
  checkRoot(opts.rootRank, size_, "gather");
  const int root = static_cast<int>(opts.rootRank);
  std::vector<Message> messages{{input, root, true}};
  Tensors parts;
  if (rank_ == root) {
    parts = singleList(outputs, size_, "gather");
    for (int rank = 0; rank < size_; ++rank) {
      checkSameType(parts[rank], input, "gather");
      messages.push_back({parts[rank], rank, false});
    }
    checkSame(parts[rank_], input, "gather");
  } else {
    TORCH_CHECK_VALUE(outputs.empty(), "gather has outputs on the root, rank ",
                      root, ", only, but rank ", rank_, " got some too");
  }
  return exchange({OpType::GATHER, "dicl:gather", {input}, parts, opts.timeout},
                  std::move(messages));
}

ProcessGroupDICL::Work ProcessGroupDICL::scatter(
    Tensors& outputs, TensorLists& inputs, const c10d::ScatterOptions& opts) {
  const at::Tensor output = single(outputs, "scatter");
  checkRoot(opts.rootRank, size_, "scatter");
  const int root = static_cast<int>(opts.rootRank);
  std::vector<Message> messages{{output, root, false}};
  Tensors parts;
  if (rank_ == root) {
    parts = singleList(inputs, size_, "scatter");
    for (int rank = 0; rank < size_; ++rank) {
      checkSameType(parts[rank], output, "scatter");
      messages.push_back({parts[rank], rank, true});
    }
    checkSame(output, parts[rank_], "scatter");
  } else {
    TORCH_CHECK_VALUE(inputs.empty(), "scatter has inputs on the root, rank ",
                      root, ", only, but rank ", rank_, " got some too");
  }
  return exchange(
      {OpType::SCATTER, "dicl:scatter", parts, {output}, opts.timeout},
      std::move(messages));
}

ProcessGroupDICL::Work ProcessGroupDICL::alltoall_base(
    at::Tensor& output, at::Tensor& input, std::vector<int64_t>& output_counts,
    std::vector<int64_t>& input_counts, const c10d::AllToAllOptions& opts) {
  constexpr char kName[] = "all_to_all";
  checkSameType(output, input, kName);
  std::vector<int64_t> received;
  std::vector<int64_t> sent;
  const bool is_equal = output_counts.empty() && input_counts.empty();
  if (is_equal) {
    checkSame(output, input, kName);
    elementCounts({}, input, size_, kName);
  } else {
    received = elementCounts(output_counts, output, size_, kName);
    sent = elementCounts(input_counts, input, size_, kName);
  }
  return run({OpType::ALLTOALL_BASE,
              "dicl:all_to_all",
              {input},
              {output},
              opts.timeout},
             [&](Collectives& collectives) {
               collectives.allToAll(output, input, received, sent);
             });
}

ProcessGroupDICL::Work ProcessGroupDICL::alltoall(
    Tensors& outputs, Tensors& inputs, const c10d::AllToAllOptions& opts) {
  constexpr char kName[] = "all_to_all";
  checkSameLength(outputs.size(), inputs.size(), kName);
  TORCH_CHECK_VALUE(inputs.size() == static_cast<std::size_t>(size_), kName,
                    " takes ", size_, " tensors, one for each rank, not ",
                    inputs.size());
  checkSame(outputs[rank_], inputs[rank_], kName);
  std::vector<Message> messages;
  for (int rank = 0; rank < size_; ++rank) {
    checkSameType(outputs[rank], inputs[rank], kName);
    messages.push_back({inputs[rank], rank, true});
    messages.push_back({outputs[rank], rank, false});
  }
  return exchange(
      {OpType::ALLTOALL, "dicl:all_to_all", inputs, outputs, opts.timeout},
      std::move(messages));
}

// ---------------------------------------------------------------- messages

ProcessGroupDICL::Work ProcessGroupDICL::send(Tensors& tensors, int peer,
                                              int tag) {
  return message(single(tensors, "send"), peer, tag, true);
}

ProcessGroupDICL::Work ProcessGroupDICL::recv(Tensors& tensors, int peer,
                                              int tag) {
  return message(single(tensors, "recv"), peer, tag, false);
}

ProcessGroupDICL::Work ProcessGroupDICL::recvAnysource(Tensors& /*tensors*/,
                                                       int /*tag*/) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      false, "recv of ", who(),
      " needs the rank that sends: vendors' messages have two known ends. Pass "
      "src, or send a message that says who is next");
}

ProcessGroupDICL::Work ProcessGroupDICL::message(const at::Tensor& tensor,
                                                 int peer, int tag,
                                                 bool is_send) {
  const char* const name = is_send ? "send" : "recv";
  checkRoot(peer, size_, name);
  TORCH_CHECK_VALUE(tag == 0, name, " of ", who(), " got the tag ", tag,
                    "; messages between two ranks are matched in their order, "
                    "and have no tags");
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (collected_) {
      collected_->push_back({tensor, peer, is_send});
      return nullptr;
    }
  }
  TORCH_CHECK_VALUE(peer != rank_, name, " of ", who(),
                    " is for the rank itself; use batch_isend_irecv");
  const OpType type = is_send ? OpType::SEND : OpType::RECV;
  Call call{type, is_send ? "dicl:send" : "dicl:recv", {}, {}, kNoTimeout};
  (is_send ? call.inputs : call.outputs).push_back(tensor);
  call.message = c10::str(name, " ", rank_, is_send ? "->" : "<-", peer);
  return exchange(std::move(call), {{tensor, peer, is_send}});
}

void ProcessGroupDICL::startCoalescing() {
  const std::lock_guard<std::mutex> lock(mutex_);
  TORCH_CHECK(!collected_, who(),
              " collects messages already; end one batch before the next");
  collected_.emplace();
}

ProcessGroupDICL::Work ProcessGroupDICL::endCoalescing() {
  std::vector<Message> messages;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    TORCH_CHECK(collected_, who(), " collects no messages that could end");
    messages = std::move(*collected_);
    collected_.reset();
  }
  if (messages.empty()) return nullptr;
  Call call{OpType::COALESCED, "dicl:coalesced", {}, {}, kNoTimeout};
  for (const Message& message : messages) {
    (message.is_send ? call.inputs : call.outputs).push_back(message.tensor);
  }
  call.message = "coalesced";
  return exchange(std::move(call), std::move(messages));
}

}  // namespace dipu::distributed
