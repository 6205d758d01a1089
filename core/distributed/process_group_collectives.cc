// SPDX-License-Identifier: Apache-2.0
//
// Collectives that move or reduce whole tensors.
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>

#include <utility>

#include "core/distributed/process_group.h"
#include "core/distributed/tensor_checks.h"

namespace dipu::distributed {

using c10d::OpType;

c10::DeviceIndex ProcessGroupDICL::deviceOf(const Call& call) const {
  c10::DeviceIndex device = -1;
  for (const Tensors* tensors : {&call.inputs, &call.outputs}) {
    for (const at::Tensor& tensor : *tensors) {
      TORCH_CHECK_VALUE(tensor.defined() && tensor.layout() == c10::kStrided &&
                            tensor.device().type() == runtime::kDeviceType,
                        call.name(), " of ", who(),
                        " needs dense tensors of dipu, but got ",
                        tensor.toString(), "; move it with .to(\"dipu\")");
      if (device == -1) device = tensor.device().index();
      TORCH_CHECK_VALUE(tensor.device().index() == device, call.name(), " of ",
                        who(), " got tensors of dipu:", int{device}, " and ",
                        tensor.device(), "; a rank has one device");
    }
  }
  TORCH_CHECK_VALUE(device != -1, call.name(), " of ", who(),
                    " needs a tensor at least");
  return device;
}

ProcessGroupDICL::Work ProcessGroupDICL::broadcast(
    Tensors& tensors, const c10d::BroadcastOptions& opts) {
  at::Tensor tensor = single(tensors, "broadcast");
  checkRoot(opts.rootRank, size_, "broadcast");
  return run(
      {OpType::BROADCAST, "dicl:broadcast", {tensor}, {tensor}, opts.timeout},
      [&](Collectives& collectives) {
        collectives.broadcast(tensor, static_cast<int>(opts.rootRank));
      });
}

ProcessGroupDICL::Work ProcessGroupDICL::allreduce(
    Tensors& tensors, const c10d::AllreduceOptions& opts) {
  at::Tensor tensor = single(tensors, "all_reduce");
  planReduction(opts.reduceOp, tensor.scalar_type());
  return run(
      {OpType::ALLREDUCE, "dicl:all_reduce", {tensor}, {tensor}, opts.timeout},
      [&](Collectives& collectives) {
        collectives.allReduce(tensor, opts.reduceOp);
      });
}

ProcessGroupDICL::Work ProcessGroupDICL::allreduce_coalesced(
    Tensors& tensors, const c10d::AllreduceCoalescedOptions& opts) {
  for (const at::Tensor& tensor : tensors) {
    planReduction(opts.reduceOp, tensor.scalar_type());
  }
  return run({OpType::ALLREDUCE_COALESCED, "dicl:allreduce_coalesced", tensors,
              tensors, opts.timeout},
             [&](Collectives& collectives) {
               for (at::Tensor& tensor : tensors) {
                 collectives.allReduce(tensor, opts.reduceOp);
               }
             });
}

ProcessGroupDICL::Work ProcessGroupDICL::reduce(
    Tensors& tensors, const c10d::ReduceOptions& opts) {
  at::Tensor tensor = single(tensors, "reduce");
  checkRoot(opts.rootRank, size_, "reduce");
  planReduction(opts.reduceOp, tensor.scalar_type());
  return run({OpType::REDUCE, "dicl:reduce", {tensor}, {tensor}, opts.timeout},
             [&](Collectives& collectives) {
               collectives.reduce(tensor, opts.reduceOp,
                                  static_cast<int>(opts.rootRank));
             });
}

ProcessGroupDICL::Work ProcessGroupDICL::allgather(
    TensorLists& outputs, Tensors& inputs, const c10d::AllgatherOptions& opts) {
  const at::Tensor input = single(inputs, "all_gather");
  Tensors parts = singleList(outputs, size_, "all_gather");
  for (const at::Tensor& part : parts) {
    checkSameType(part, input, "all_gather");
  }
  checkSame(parts[rank_], input, "all_gather");
  return run(
      {OpType::ALLGATHER, "dicl:all_gather", {input}, parts, opts.timeout},
      [&](Collectives& collectives) {
        gatherParts(collectives, parts, input);
      });
}

// Parts of unequal sizes are broadcast one by one, because the vendor's
// function gathers equal ones.
void ProcessGroupDICL::gatherParts(Collectives& collectives, Tensors& parts,
                                   const at::Tensor& input) const {
  if (!haveEqualSizes(parts)) {
    parts[rank_].copy_(input.view_as(parts[rank_]));
    for (int rank = 0; rank < size_; ++rank) {
      collectives.broadcast(parts[rank], rank);
    }
    return;
  }
  at::Tensor all = at::empty({size_, input.numel()}, input.options());
  collectives.allGather(all, input);
  for (int rank = 0; rank < size_; ++rank) {
    parts[rank].copy_(all.select(0, rank).view(parts[rank].sizes()));
  }
}

ProcessGroupDICL::Work ProcessGroupDICL::_allgather_base(
    at::Tensor& output, at::Tensor& input, const c10d::AllgatherOptions& opts) {
  checkTotal(output, input, size_, "_all_gather_base");
  return run(
      {OpType::_ALLGATHER_BASE,
       "dicl:_all_gather_base",
       {input},
       {output},
       opts.timeout},
      [&](Collectives& collectives) { collectives.allGather(output, input); });
}

ProcessGroupDICL::Work ProcessGroupDICL::allgather_coalesced(
    TensorLists& outputs, Tensors& inputs, const c10d::AllgatherOptions& opts) {
  constexpr char kName[] = "ALLGATHER_coalesced";
  // One list per rank, one tensor of each per input.
  TORCH_CHECK_VALUE(outputs.size() == static_cast<std::size_t>(size_), kName,
                    " takes ", size_, " lists, one for each rank, not ",
                    outputs.size());
  Tensors all;
  for (const Tensors& list : outputs) {
    checkSameLength(list.size(), inputs.size(), kName);
    for (std::size_t i = 0; i < list.size(); ++i) {
      checkSame(list[i], inputs[i], kName);
      all.push_back(list[i]);
    }
  }
  return run({OpType::ALLGATHER_COALESCED, "dicl:ALLGATHER_coalesced", inputs,
              all, opts.timeout},
             [&](Collectives& collectives) {
               for (std::size_t i = 0; i < inputs.size(); ++i) {
                 Tensors parts;
                 for (const Tensors& list : outputs) parts.push_back(list[i]);
                 gatherParts(collectives, parts, inputs[i]);
               }
             });
}

ProcessGroupDICL::Work ProcessGroupDICL::allgather_into_tensor_coalesced(
    Tensors& outputs, Tensors& inputs, const c10d::AllgatherOptions& opts) {
  constexpr char kName[] = "all_gather_into_tensor_coalesced";
  checkSameLength(outputs.size(), inputs.size(), kName);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    checkTotal(outputs[i], inputs[i], size_, kName);
  }
  return run({OpType::COALESCED, "dicl:all_gather_into_tensor_coalesced",
              inputs, outputs, opts.timeout},
             [&](Collectives& collectives) {
               for (std::size_t i = 0; i < inputs.size(); ++i) {
                 collectives.allGather(outputs[i], inputs[i]);
               }
             });
}

ProcessGroupDICL::Work ProcessGroupDICL::reduce_scatter(
    Tensors& outputs, TensorLists& inputs,
    const c10d::ReduceScatterOptions& opts) {
  at::Tensor output = single(outputs, "reduce_scatter");
  Tensors parts = singleList(inputs, size_, "reduce_scatter");
  for (const at::Tensor& part : parts) {
    checkSameType(part, output, "reduce_scatter");
  }
  checkSame(output, parts[rank_], "reduce_scatter");
  planReduction(opts.reduceOp, output.scalar_type());
  return run({OpType::REDUCE_SCATTER,
              "dicl:reduce_scatter",
              parts,
              {output},
              opts.timeout},
             [&](Collectives& collectives) {
               scatterReduced(collectives, output, parts, opts.reduceOp);
             });
}

// Parts of unequal sizes are reduced one by one, each to its rank.
void ProcessGroupDICL::scatterReduced(Collectives& collectives,
                                      at::Tensor& output, const Tensors& parts,
                                      const c10d::ReduceOp& op) const {
  if (!haveEqualSizes(parts)) {
    for (int rank = 0; rank < size_; ++rank) {
      at::Tensor part = parts[rank].clone();
      collectives.reduce(part, op, rank);
      if (rank == rank_) output.copy_(part.view_as(output));
    }
    return;
  }
  const at::Tensor all = at::empty({size_, output.numel()}, output.options());
  for (int rank = 0; rank < size_; ++rank) {
    all.select(0, rank).view(parts[rank].sizes()).copy_(parts[rank]);
  }
  collectives.reduceScatter(output, all, op);
}

ProcessGroupDICL::Work ProcessGroupDICL::_reduce_scatter_base(
    at::Tensor& output, at::Tensor& input,
    const c10d::ReduceScatterOptions& opts) {
  checkTotal(input, output, size_, "_reduce_scatter_base");
  planReduction(opts.reduceOp, output.scalar_type());
  return run({OpType::_REDUCE_SCATTER_BASE,
              "dicl:_reduce_scatter_base",
              {input},
              {output},
              opts.timeout},
             [&](Collectives& collectives) {
               collectives.reduceScatter(output, input, opts.reduceOp);
             });
}

ProcessGroupDICL::Work ProcessGroupDICL::reduce_scatter_tensor_coalesced(
    Tensors& outputs, Tensors& inputs, const c10d::ReduceScatterOptions& opts) {
  constexpr char kName[] = "reduce_scatter_tensor_coalesced";
  checkSameLength(outputs.size(), inputs.size(), kName);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    checkTotal(inputs[i], outputs[i], size_, kName);
    planReduction(opts.reduceOp, outputs[i].scalar_type());
  }
  return run(
      {OpType::REDUCE_SCATTER_TENSOR_COALESCED,
       "dicl:reduce_scatter_tensor_coalesced", inputs, outputs, opts.timeout},
      [&](Collectives& collectives) {
        for (std::size_t i = 0; i < inputs.size(); ++i) {
          collectives.reduceScatter(outputs[i], inputs[i], opts.reduceOp);
        }
      });
}

c10::DeviceIndex ProcessGroupDICL::barrierDevice(
    const c10d::BarrierOptions& opts) const {
  if (const auto connection = this->connection()) {
    return connection->communicator->device();
  }
  if (!opts.device_ids.empty()) {
    return static_cast<c10::DeviceIndex>(opts.device_ids[0]);
  }
  const bool is_named = opts.device && opts.device->has_index();
  if (is_named && opts.device->type() == runtime::kDeviceType) {
    return opts.device->index();
  }
  const std::optional<at::Device> bound = getBoundDeviceId();
  return bound ? bound->index() : runtime::currentDevice();
}

ProcessGroupDICL::Work ProcessGroupDICL::barrier(
    const c10d::BarrierOptions& opts) {
  at::Tensor token = at::zeros(
      {1}, at::TensorOptions(c10::ScalarType::Float)
               .device(at::Device(runtime::kDeviceType, barrierDevice(opts))));
  Call call{OpType::BARRIER, "dicl:barrier", {token}, {token}, opts.timeout};
  call.is_barrier = true;
  return run(std::move(call), [&](Collectives& collectives) {
    collectives.allReduce(token, c10d::ReduceOp::SUM);
  });
}

void ProcessGroupDICL::monitoredBarrier(const c10d::BarrierOptions& opts,
                                        bool /*wait_all_ranks*/) {
  std::string name;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    name = c10::str("barrier/", ++barriers_);
  }
  const auto timeout =
      opts.timeout.count() > 0 ? opts.timeout : options_->timeout;
  meetAt(*store_, name, rank_, size_, timeout);
}

}  // namespace dipu::distributed
