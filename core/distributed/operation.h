// SPDX-License-Identifier: Apache-2.0
//
// One enqueued operation of a group: what it is, and whether it is done.
#pragma once

#include <c10/core/ScalarType.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <vector>

#include "core/distributed/communicator.h"
#include "core/runtime/event.h"
#include "core/runtime/stream.h"

namespace dipu::distributed {

using Clock = std::chrono::steady_clock;

// What messages, reports and records tell.
struct Description {
  // In PyTorch's words, such as "all_reduce"; messages say whom they are for,
  // such as "send 0->1".
  std::string name;
  // Counts the collectives of the group, or the messages of this rank.
  uint64_t sequence = 0;
  bool is_message = false;
  // The first tensor, and how many there are; 0 for none.
  std::size_t tensors = 0;
  c10::ScalarType dtype = c10::ScalarType::Undefined;
  std::vector<int64_t> sizes;

  // "all_reduce #3 of Float[4, 4]".
  std::string text() const;
};

// Shared by the work that the caller holds and the watchdog. Functions may be
// called by any thread, those that record before the others do.
class Operation {
 public:
  Operation(c10d::OpType type, Description description,
            std::chrono::milliseconds timeout,
            std::shared_ptr<Communicator> communicator, bool has_timing);

  c10d::OpType type() const { return type_; }
  bool hasTiming() const { return start_ != nullptr; }
  const Description& description() const { return description_; }
  std::chrono::milliseconds timeout() const { return timeout_; }
  Clock::time_point begin() const { return begin_; }

  // Enqueue the marks around the work on `stream`.
  void recordStart(const runtime::StreamRecord& stream);
  void recordEnd(const runtime::StreamRecord& stream);

  // Later work of `stream` waits for the end.
  void block(const runtime::StreamRecord& stream) const;

  // Whether it is over, done or failed. Does not block. Failures of the device
  // count as its own. When the vendor ends a communicator with an error, the
  // stream goes on; what has not been seen to end before then is not over until
  // the watchdog makes it fail.
  bool isOver();
  // Null unless it failed.
  std::exception_ptr exception() const;
  // Makes it fail; ignored once it is over.
  void fail(const std::exception_ptr& exception);

  bool isLate(Clock::time_point now) const { return now - begin_ > timeout_; }

  // Milliseconds on the device. Throws without timing, or before the end.
  float duration() const;

 private:
  enum class State { kRunning, kDone, kFailed };

  void end(State state, const std::exception_ptr& exception);

  const c10d::OpType type_;
  const Description description_;
  const std::chrono::milliseconds timeout_;
  const Clock::time_point begin_ = Clock::now();
  runtime::PooledEvent start_;  // null without timing
  runtime::PooledEvent end_;
  mutable std::mutex mutex_;
  // Guarded by mutex_, as what follows. Null once it is over.
  std::shared_ptr<Communicator> communicator_;
  State state_ = State::kRunning;
  std::exception_ptr exception_;
};

}  // namespace dipu::distributed
