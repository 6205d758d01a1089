// SPDX-License-Identifier: Apache-2.0
//
// What a collective returns: the handle by which the caller waits for it.
#pragma once

#include <ATen/core/ivalue.h>

#include <chrono>
#include <exception>
#include <memory>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <vector>

#include "core/distributed/health.h"
#include "core/distributed/operation.h"

namespace dipu::distributed {

class WorkDICL final : public c10d::Work {
 public:
  struct Setup {
    int rank;
    c10d::OpType type;
    // Shown by the profiler.
    const char* title;
    c10::DeviceIndex device;
    // Whether wait() blocks the calling thread until the operation is over.
    bool is_blocking;
    std::vector<at::Tensor> outputs;
    std::shared_ptr<Health> health;
  };
  // Call it with the stream of the operation current, after its end has been
  // recorded: the future is completed for that stream.
  WorkDICL(Setup setup, std::shared_ptr<Operation> operation);

  bool isCompleted() override;
  bool isSuccess() const override;
  std::exception_ptr exception() const override;
  std::vector<at::Tensor> result() override { return setup_.outputs; }

  // Orders the current stream of the device behind the operation; the calling
  // thread goes on. Throws when the operation or its group has failed.
  void synchronize() override;
  // As synchronize(). With a timeout, or where the setup says so, it blocks
  // until the operation is over, and throws when that lasts longer; the
  // operation then goes on.
  bool wait(std::chrono::milliseconds timeout = kNoTimeout) override;
  void blockCurrentStream() override { synchronize(); }

  // Completed at once: its callbacks run on streams that come after the
  // operation. Holds the outputs.
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override {
    return future_;
  }
  float getDuration() const override { return operation_->duration(); }
  uint64_t getSequencenumber() const override {
    return operation_->description().sequence;
  }

 private:
  void throwIfFailed() const;
  void awaitEnd(std::chrono::milliseconds timeout);

  const Setup setup_;
  const std::shared_ptr<Operation> operation_;
  c10::intrusive_ptr<c10::ivalue::Future> future_;
};

}  // namespace dipu::distributed
