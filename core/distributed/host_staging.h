// SPDX-License-Identifier: Apache-2.0
//
// Collectives of device tensors through another backend's, on the host: where a
// group is made for host tensors (gloo), and between devices of vendors that
// cannot talk to each other.
//
// Inputs are copied to the host, which waits for the device; the host's backend
// exchanges them; outputs are copied back when the caller waits, or when the
// future is completed.
#pragma once

#include <functional>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <vector>

namespace dipu::distributed {

class HostStaging final : public c10d::Backend {
 public:
  // `host` takes tensors of the CPU.
  explicit HostStaging(c10::intrusive_ptr<c10d::Backend> host);

  using Work = c10::intrusive_ptr<c10d::Work>;
  using Tensors = std::vector<at::Tensor>;
  using TensorLists = std::vector<std::vector<at::Tensor>>;

  const std::string getBackendName() const override;
  c10::intrusive_ptr<Options> getBackendOptions() override;
  void setTimeout(std::chrono::milliseconds timeout) override;

  Work broadcast(Tensors& tensors, const c10d::BroadcastOptions& opts) override;
  Work allreduce(Tensors& tensors, const c10d::AllreduceOptions& opts) override;
  Work allreduce_coalesced(
      Tensors& tensors, const c10d::AllreduceCoalescedOptions& opts) override;
  Work reduce(Tensors& tensors, const c10d::ReduceOptions& opts) override;
  Work allgather(TensorLists& outputs, Tensors& inputs,
                 const c10d::AllgatherOptions& opts) override;
  Work _allgather_base(at::Tensor& output, at::Tensor& input,
                       const c10d::AllgatherOptions& opts) override;
  Work allgather_coalesced(TensorLists& outputs, Tensors& inputs,
                           const c10d::AllgatherOptions& opts) override;
  Work allgather_into_tensor_coalesced(
      Tensors& outputs, Tensors& inputs,
      const c10d::AllgatherOptions& opts) override;
  Work gather(TensorLists& outputs, Tensors& inputs,
              const c10d::GatherOptions& opts) override;
  Work scatter(Tensors& outputs, TensorLists& inputs,
               const c10d::ScatterOptions& opts) override;
  Work reduce_scatter(Tensors& outputs, TensorLists& inputs,
                      const c10d::ReduceScatterOptions& opts) override;
  Work _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                            const c10d::ReduceScatterOptions& opts) override;
  Work reduce_scatter_tensor_coalesced(
      Tensors& outputs, Tensors& inputs,
      const c10d::ReduceScatterOptions& opts) override;
  Work alltoall_base(at::Tensor& output, at::Tensor& input,
                     std::vector<int64_t>& output_counts,
                     std::vector<int64_t>& input_counts,
                     const c10d::AllToAllOptions& opts) override;
  Work alltoall(Tensors& outputs, Tensors& inputs,
                const c10d::AllToAllOptions& opts) override;
  Work send(Tensors& tensors, int peer, int tag) override;
  Work recv(Tensors& tensors, int peer, int tag) override;
  Work recvAnysource(Tensors& tensors, int tag) override;
  Work barrier(const c10d::BarrierOptions& opts) override;
  void monitoredBarrier(const c10d::BarrierOptions& opts,
                        bool wait_all_ranks) override;
  void setSequenceNumberForGroup() override;
  uint64_t getSequenceNumberForGroup() override;

 private:
  // Runs `call` on host copies of `tensors`, which it changes in place.
  Work inPlace(Tensors tensors, const std::function<Work(Tensors&)>& call);

  const c10::intrusive_ptr<c10d::Backend> host_;
};

}  // namespace dipu::distributed
