// SPDX-License-Identifier: Apache-2.0
#include "core/distributed/host_staging.h"

#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <mutex>
#include <utility>

namespace dipu::distributed {
namespace {

using Work = HostStaging::Work;
using Tensors = HostStaging::Tensors;
using TensorLists = HostStaging::TensorLists;

Tensors toHost(const Tensors& tensors) {
  Tensors host;
  host.reserve(tensors.size());
  for (const at::Tensor& tensor : tensors) {
    host.push_back(tensor.to(at::kCPU).contiguous());
  }
  return host;
}

TensorLists toHost(const TensorLists& lists) {
  TensorLists host;
  for (const Tensors& list : lists) host.push_back(toHost(list));
  return host;
}

Tensors flatten(const TensorLists& lists) {
  Tensors all;
  for (const Tensors& list : lists) {
    all.insert(all.end(), list.begin(), list.end());
  }
  return all;
}

// The work of the host's backend, and what is left to do after it.
class StagedWork final : public c10d::Work {
 public:
  StagedWork(c10::intrusive_ptr<c10d::Work> host, Tensors targets,
             Tensors sources)
      : Work(-1, host->retrieveOpType()),
        host_(std::move(host)),
        targets_(std::move(targets)),
        sources_(std::move(sources)) {}

  bool isCompleted() override { return host_->isCompleted(); }
  bool isSuccess() const override { return host_->isSuccess(); }
  std::exception_ptr exception() const override { return host_->exception(); }
  int sourceRank() const override { return host_->sourceRank(); }
  std::vector<at::Tensor> result() override { return targets_; }
  void synchronize() override { wait(kNoTimeout); }
  bool wait(std::chrono::milliseconds timeout) override {
    host_->wait(timeout);
    store();
    return true;
  }

  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override {
    auto self =
        c10::intrusive_ptr<StagedWork>::unsafe_reclaim_from_nonowning(this);
    return host_->getFuture()->then(
        [self = std::move(self)](c10::ivalue::Future& done) {
          if (done.hasError()) std::rethrow_exception(done.exception_ptr());
          self->store();
          return c10::IValue(self->targets_);
        },
        c10::ListType::create(c10::TensorType::get()));
  }

 private:
  void store() {
    std::call_once(is_stored_, [this] {
      for (std::size_t i = 0; i < targets_.size(); ++i) {
        targets_[i].copy_(sources_[i].view_as(targets_[i]));
      }
    });
  }

  const c10::intrusive_ptr<c10d::Work> host_;
  Tensors targets_;
  const Tensors sources_;
  std::once_flag is_stored_;
};

Work staged(Work host, Tensors targets, Tensors sources) {
  return c10::make_intrusive<StagedWork>(std::move(host), std::move(targets),
                                         std::move(sources));
}

}  // namespace

HostStaging::HostStaging(c10::intrusive_ptr<c10d::Backend> host)
    : Backend(host->getRank(), host->getSize()), host_(std::move(host)) {}

const std::string HostStaging::getBackendName() const {
  return host_->getBackendName();
}

c10::intrusive_ptr<c10d::Backend::Options> HostStaging::getBackendOptions() {
  return host_->getBackendOptions();
}

void HostStaging::setTimeout(std::chrono::milliseconds timeout) {
  host_->setTimeout(timeout);
}

Work HostStaging::inPlace(Tensors tensors,
                          const std::function<Work(Tensors&)>& call) {
  Tensors host = toHost(tensors);
  Work work = call(host);
  return staged(std::move(work), std::move(tensors), std::move(host));
}

Work HostStaging::broadcast(Tensors& tensors,
                            const c10d::BroadcastOptions& opts) {
  return inPlace(tensors,
                 [&](Tensors& host) { return host_->broadcast(host, opts); });
}

Work HostStaging::allreduce(Tensors& tensors,
                            const c10d::AllreduceOptions& opts) {
  return inPlace(tensors,
                 [&](Tensors& host) { return host_->allreduce(host, opts); });
}

Work HostStaging::allreduce_coalesced(
    Tensors& tensors, const c10d::AllreduceCoalescedOptions& opts) {
  return inPlace(tensors, [&](Tensors& host) {
    return host_->allreduce_coalesced(host, opts);
  });
}

Work HostStaging::reduce(Tensors& tensors, const c10d::ReduceOptions& opts) {
  Tensors host = toHost(tensors);
  Work work = host_->reduce(host, opts);
  // The host's backend may leave partial results on other ranks.
  const bool is_root = opts.rootRank == rank_;
  return staged(std::move(work), is_root ? tensors : Tensors{},
                is_root ? std::move(host) : Tensors{});
}

Work HostStaging::allgather(TensorLists& outputs, Tensors& inputs,
                            const c10d::AllgatherOptions& opts) {
  TensorLists host_outputs = toHost(outputs);
  Tensors host_inputs = toHost(inputs);
  Work work = host_->allgather(host_outputs, host_inputs, opts);
  return staged(std::move(work), flatten(outputs), flatten(host_outputs));
}

Work HostStaging::_allgather_base(at::Tensor& output, at::Tensor& input,
                                  const c10d::AllgatherOptions& opts) {
  return inPlace({output}, [&](Tensors& host) {
    at::Tensor host_input = toHost(Tensors{input})[0];
    return host_->_allgather_base(host[0], host_input, opts);
  });
}

Work HostStaging::allgather_coalesced(TensorLists& outputs, Tensors& inputs,
                                      const c10d::AllgatherOptions& opts) {
  TensorLists host_outputs = toHost(outputs);
  Tensors host_inputs = toHost(inputs);
  Work work = host_->allgather_coalesced(host_outputs, host_inputs, opts);
  return staged(std::move(work), flatten(outputs), flatten(host_outputs));
}

Work HostStaging::allgather_into_tensor_coalesced(
    Tensors& outputs, Tensors& inputs, const c10d::AllgatherOptions& opts) {
  return inPlace(outputs, [&](Tensors& host) {
    Tensors host_inputs = toHost(inputs);
    return host_->allgather_into_tensor_coalesced(host, host_inputs, opts);
  });
}

Work HostStaging::gather(TensorLists& outputs, Tensors& inputs,
                         const c10d::GatherOptions& opts) {
  TensorLists host_outputs = toHost(outputs);
  Tensors host_inputs = toHost(inputs);
  Work work = host_->gather(host_outputs, host_inputs, opts);
  return staged(std::move(work), flatten(outputs), flatten(host_outputs));
}

Work HostStaging::scatter(Tensors& outputs, TensorLists& inputs,
                          const c10d::ScatterOptions& opts) {
  return inPlace(outputs, [&](Tensors& host) {
    TensorLists host_inputs = toHost(inputs);
    return host_->scatter(host, host_inputs, opts);
  });
}

Work HostStaging::reduce_scatter(Tensors& outputs, TensorLists& inputs,
                                 const c10d::ReduceScatterOptions& opts) {
  return inPlace(outputs, [&](Tensors& host) {
    TensorLists host_inputs = toHost(inputs);
    return host_->reduce_scatter(host, host_inputs, opts);
  });
}

Work HostStaging::_reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                       const c10d::ReduceScatterOptions& opts) {
  return inPlace({output}, [&](Tensors& host) {
    at::Tensor host_input = toHost(Tensors{input})[0];
    return host_->_reduce_scatter_base(host[0], host_input, opts);
  });
}

Work HostStaging::reduce_scatter_tensor_coalesced(
    Tensors& outputs, Tensors& inputs, const c10d::ReduceScatterOptions& opts) {
  return inPlace(outputs, [&](Tensors& host) {
    Tensors host_inputs = toHost(inputs);
    return host_->reduce_scatter_tensor_coalesced(host, host_inputs, opts);
  });
}

Work HostStaging::alltoall_base(at::Tensor& output, at::Tensor& input,
                                std::vector<int64_t>& output_counts,
                                std::vector<int64_t>& input_counts,
                                const c10d::AllToAllOptions& opts) {
  return inPlace({output}, [&](Tensors& host) {
    at::Tensor host_input = toHost(Tensors{input})[0];
    return host_->alltoall_base(host[0], host_input, output_counts,
                                input_counts, opts);
  });
}

Work HostStaging::alltoall(Tensors& outputs, Tensors& inputs,
                           const c10d::AllToAllOptions& opts) {
  return inPlace(outputs, [&](Tensors& host) {
    Tensors host_inputs = toHost(inputs);
    return host_->alltoall(host, host_inputs, opts);
  });
}

Work HostStaging::send(Tensors& tensors, int peer, int tag) {
  Tensors host = toHost(tensors);
  Work work = host_->send(host, peer, tag);
  // Nothing comes back, but the copies must live until they are sent.
  return staged(std::move(work), host, host);
}

Work HostStaging::recv(Tensors& tensors, int peer, int tag) {
  return inPlace(tensors,
                 [&](Tensors& host) { return host_->recv(host, peer, tag); });
}

Work HostStaging::recvAnysource(Tensors& tensors, int tag) {
  return inPlace(
      tensors, [&](Tensors& host) { return host_->recvAnysource(host, tag); });
}

Work HostStaging::barrier(const c10d::BarrierOptions& opts) {
  return host_->barrier(opts);
}

void HostStaging::monitoredBarrier(const c10d::BarrierOptions& opts,
                                   bool wait_all_ranks) {
  host_->monitoredBarrier(opts, wait_all_ranks);
}

void HostStaging::setSequenceNumberForGroup() {
  host_->setSequenceNumberForGroup();
}

uint64_t HostStaging::getSequenceNumberForGroup() {
  return host_->getSequenceNumberForGroup();
}

}  // namespace dipu::distributed
