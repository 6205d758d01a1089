// SPDX-License-Identifier: Apache-2.0
//
// Collectives of tensors on one communicator: element types, layouts and
// operations that the vendor lacks are composed (Note [Composed reductions] in
// reduction.h).
//
// Every function enqueues on the stream of the constructor, which must be the
// calling thread's current one, because memory in between is allocated for it
// and operators run on it. Tensors are on the communicator's device, have any
// layout, and their number of elements is what the comments say: callers check
// that. Ranks call the same functions in the same order.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <torch/csrc/distributed/c10d/Types.hpp>
#include <vector>

#include "core/distributed/communicator.h"
#include "core/distributed/reduction.h"
#include "core/runtime/stream.h"

namespace dipu::distributed {

// A message of one rank to another, sent or received.
struct Message {
  at::Tensor tensor;
  int peer;
  bool is_send;
};

class Collectives {
 public:
  Collectives(Communicator& communicator, const runtime::StreamRecord& stream)
      : communicator_(communicator), stream_(stream) {}

  void allReduce(at::Tensor& tensor, const c10d::ReduceOp& op);
  // Only the root's `tensor` changes.
  void reduce(at::Tensor& tensor, const c10d::ReduceOp& op, int root);
  // `input` has size() times the elements of `output`.
  void reduceScatter(at::Tensor& output, const at::Tensor& input,
                     const c10d::ReduceOp& op);
  void broadcast(at::Tensor& tensor, int root);
  // `output` has size() times the elements of `input`.
  void allGather(at::Tensor& output, const at::Tensor& input);
  // Numbers of elements that come from, and go to, each rank, in rank order; of
  // all ranks or of none, when all numbers are equal.
  void allToAll(at::Tensor& output, const at::Tensor& input,
                const std::vector<int64_t>& output_counts,
                const std::vector<int64_t>& input_counts);
  // All at once, so that no order of them can make ranks wait for one another.
  // Messages between two ranks are matched in their order; those of a rank to
  // itself are copies.
  void exchange(std::vector<Message> messages);

 private:
  // `recv` and `send`, contiguous, may be the same.
  void allReduceFlat(const Reduction& reduction, const at::Tensor& send,
                     at::Tensor& recv);
  void reduceScatterFlat(const Reduction& reduction, const at::Tensor& send,
                         at::Tensor& recv);
  void combineAll(const Reduction& reduction, const at::Tensor& send,
                  at::Tensor& recv);
  void combineScatter(const Reduction& reduction, const at::Tensor& send,
                      at::Tensor& recv);
  // Both contiguous.
  void allToAllEqual(at::Tensor& output, const at::Tensor& input);
  void allToAllUneven(at::Tensor& output, const at::Tensor& input,
                      const std::vector<int64_t>& output_counts,
                      const std::vector<int64_t>& input_counts);
  void issue(const std::vector<Message>& messages);
  void copyOwn(const std::vector<Message>& messages);

  Communicator& communicator_;
  const runtime::StreamRecord& stream_;
};

}  // namespace dipu::distributed
