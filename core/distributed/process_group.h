// SPDX-License-Identifier: Apache-2.0
//
// The process group of the device: PyTorch's collectives on any vendor that
// fills the communicator table.
//
// Note [Streams of a group]
// A group has one communicator and one stream, made by the first operation, on
// the device of that operation; other devices are refused. An operation waits,
// on that stream, for what the caller's current stream has been given so far,
// and the caller's stream waits for the operation when the caller calls wait().
// The allocator is told that the group's stream uses the tensors, so they may
// be freed at any time. Nothing blocks the calling thread but the first
// operation, which waits for all ranks, and barrier().
//
// All functions may be called by any thread, but the order in which operations
// are enqueued must be the same on all ranks. Failures are those of
// Note [Failure of a group] in watchdog.h and come as c10::DistBackendError.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

#include "core/distributed/collectives.h"
#include "core/distributed/communicator.h"
#include "core/distributed/completion_hook.h"
#include "core/distributed/flight_recorder.h"
#include "core/distributed/health.h"
#include "core/distributed/operation.h"
#include "core/distributed/watchdog.h"

namespace dipu::distributed {

class ProcessGroupDICL final : public c10d::Backend {
 public:
  struct Options final : c10d::Backend::Options {
    explicit Options(std::chrono::milliseconds timeout = kBackendDefaultTimeout)
        : c10d::Backend::Options("dicl", timeout) {}

    // The stream of the group is more urgent than others.
    bool is_high_priority_stream = false;
    // wait() of every operation blocks the calling thread until it is over.
    bool blocking_wait = false;
    // Operations whose input has a NaN are refused, which waits for the device.
    bool nan_check = false;
    bool timing = false;
    // Files for the flight recorder, to which the rank is appended; "" for
    // none.
    std::string dump_prefix;
    std::chrono::milliseconds heartbeat_limit{60000};
  };

  ProcessGroupDICL(c10::intrusive_ptr<c10d::Store> store, int rank, int size,
                   c10::intrusive_ptr<Options> options);
  // Ends the watchdog. Enqueued operations go on unwatched.
  ~ProcessGroupDICL() override;

  const std::string getBackendName() const override { return "dicl"; }
  c10::intrusive_ptr<c10d::Backend::Options> getBackendOptions() override {
    return options_;
  }
  void setTimeout(std::chrono::milliseconds timeout) override {
    options_->timeout = timeout;
  }
  bool supportsSplitting() const override { return true; }
  bool supportsCoalescing() const override { return true; }

  // ---------------------------------------------------------- collectives
  using Work = c10::intrusive_ptr<c10d::Work>;
  using Tensors = std::vector<at::Tensor>;
  using TensorLists = std::vector<std::vector<at::Tensor>>;

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
  // Blocks the calling thread until all ranks have called it.
  Work barrier(const c10d::BarrierOptions& opts) override;
  // Through the store alone. Throws which ranks do not come.
  void monitoredBarrier(const c10d::BarrierOptions& opts,
                        bool wait_all_ranks) override;

  // ------------------------------------------------------------- messages
  // Messages between two ranks are matched in their order, so a tag other than
  // 0 is refused. Between startCoalescing and endCoalescing of the thread they
  // are collected, and then proceed together.
  Work send(Tensors& tensors, int peer, int tag) override;
  Work recv(Tensors& tensors, int peer, int tag) override;
  // Refused: a rank cannot receive from whoever comes first.
  Work recvAnysource(Tensors& tensors, int tag) override;
  void startCoalescing() override;
  Work endCoalescing() override;

  // ----------------------------------------------------------------- life
  void setSequenceNumberForGroup() override {}  // all ranks count from 0
  uint64_t getSequenceNumberForGroup() override { return collectives_; }
  // A group of `ranks` of this one; null on the others. Does not communicate.
  c10::intrusive_ptr<c10d::Backend> split(
      const c10::intrusive_ptr<c10d::Store>& store,
      const std::vector<int>& ranks,
      const c10::intrusive_ptr<c10d::Backend::Options>& opts) override;
  // Makes the communicator now; blocks until all ranks do.
  void eagerConnectSingleDevice(at::Device device) override;
  // Ends all pending operations with an error, on all ranks.
  void abort() override;
  // Waits for pending operations, then ends the communicator.
  void shutdown() override;
  c10d::ErrorType getError() override;
  void enableCollectivesTiming() override { has_timing_ = true; }
  void registerOnCompletionHook(
      std::function<void(std::shared_ptr<c10d::WorkInfo>)>&& hook) override;
  void waitForPendingWorks() override;

  // Ends the watchdogs of all groups of the process, before its devices end.
  static void stopAll();

 private:
  // A call, before it is enqueued.
  struct Call {
    c10d::OpType type;
    // What the profiler shows: "dicl:" and the name, such as "all_reduce".
    const char* title;
    Tensors inputs;
    Tensors outputs;
    std::chrono::milliseconds timeout;
    bool is_barrier = false;
    // Of messages, such as "send 0->1"; empty for collectives.
    std::string message = "";

    // In PyTorch's words.
    std::string name() const;
  };
  using Body = std::function<void(Collectives&)>;

  // What exists from the first operation on. Made and ended as a whole.
  struct Connection {
    GroupFacts facts;
    std::shared_ptr<Communicator> communicator;
    runtime::StreamRecord* stream;
    std::unique_ptr<Watchdog> watchdog;
  };

  // Enqueues `body` as Note [Streams of a group] says.
  Work run(Call call, const Body& body);
  void enqueue(Connection& connection, const Call& call, const Body& body,
               Operation& operation);
  void reportFailure(const Connection& connection, const Operation& operation,
                     const std::string& text);
  Work makeWork(const Connection& connection, const Call& call,
                const std::shared_ptr<Operation>& operation);
  Description describe(const Call& call);
  void checkNumbers(const Call& call) const;

  // Null before the first operation.
  std::shared_ptr<Connection> connection() const;
  std::shared_ptr<Connection> connect(c10::DeviceIndex device);
  std::shared_ptr<Connection> makeConnection(c10::DeviceIndex device);
  std::unique_ptr<Watchdog> makeWatchdog(
      const std::shared_ptr<Communicator>& communicator,
      const std::string& unique_id);
  void stopWatchdog();
  void leaveConnection();
  Watchdog::Done onDone();

  // Throws when tensors of the call are not dense ones of one device of ours.
  c10::DeviceIndex deviceOf(const Call& call) const;
  c10::DeviceIndex barrierDevice(const c10d::BarrierOptions& opts) const;
  std::string who() const;
  GroupFacts facts() const;
  Work message(const at::Tensor& tensor, int peer, int tag, bool is_send);
  Work exchange(Call call, std::vector<Message> messages);
  void gatherParts(Collectives& collectives, Tensors& parts,
                   const at::Tensor& input) const;
  void scatterReduced(Collectives& collectives, at::Tensor& output,
                      const Tensors& parts, const c10d::ReduceOp& op) const;

  const c10::intrusive_ptr<c10d::Store> store_;
  const c10::intrusive_ptr<Options> options_;
  const std::shared_ptr<Health> health_ = std::make_shared<Health>();
  const int process_;
  CompletionHook hook_;
  std::atomic<bool> has_timing_;

  // Held while an operation is enqueued; guards what follows. Taken before
  // connection_mutex_.
  std::mutex mutex_;
  std::atomic<uint64_t> collectives_{0};
  uint64_t messages_ = 0;
  uint64_t barriers_ = 0;
  bool is_shut_down_ = false;
  // Engaged between startCoalescing and endCoalescing.
  std::optional<std::vector<Message>> collected_;

  // Never held while something blocks, so that a group whose first operation
  // waits can be aborted and stopped.
  mutable std::mutex connection_mutex_;
  std::shared_ptr<Connection> connection_;  // guarded by connection_mutex_
};

}  // namespace dipu::distributed
