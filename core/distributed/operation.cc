// SPDX-License-Identifier: Apache-2.0
#include "core/distributed/operation.h"

#include <c10/util/ArrayRef.h>
#include <c10/util/Exception.h>
#include <c10/util/StringUtil.h>

#include <utility>

namespace dipu::distributed {

std::string Description::text() const {
  std::string text = c10::str(name, " #", sequence);
  if (tensors > 0) text += c10::str(" of ", dtype, c10::IntArrayRef(sizes));
  if (tensors > 1) text += c10::str(" and ", tensors - 1, " more");
  return text;
}

Operation::Operation(c10d::OpType type, Description description,
                     std::chrono::milliseconds timeout,
                     std::shared_ptr<Communicator> communicator,
                     bool has_timing)
    : type_(type),
      description_(std::move(description)),
      timeout_(timeout),
      start_(has_timing ? runtime::acquireEvent(communicator->device(), true)
                        : nullptr),
      end_(runtime::acquireEvent(communicator->device(), has_timing)),
      communicator_(std::move(communicator)) {}

void Operation::recordStart(const runtime::StreamRecord& stream) {
  if (start_ != nullptr) runtime::recordEvent(*start_, stream);
}

void Operation::recordEnd(const runtime::StreamRecord& stream) {
  runtime::recordEvent(*end_, stream);
}

void Operation::block(const runtime::StreamRecord& stream) const {
  runtime::waitEvent(stream, *end_);
}

bool Operation::isOver() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (state_ != State::kRunning) return true;
  try {
    if (!runtime::queryEvent(*end_)) return false;
    if (!communicator_->asyncError().empty()) return false;
    end(State::kDone, nullptr);
  } catch (...) {
    end(State::kFailed, std::current_exception());
  }
  return true;
}

void Operation::end(State state, const std::exception_ptr& exception) {
  state_ = state;
  exception_ = exception;
  communicator_.reset();
}

std::exception_ptr Operation::exception() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return exception_;
}

void Operation::fail(const std::exception_ptr& exception) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (state_ == State::kRunning) end(State::kFailed, exception);
}

float Operation::duration() const {
  TORCH_CHECK(start_ != nullptr, "the duration of ", description_.text(),
              " was not measured; set DICL_TIMING=1, or call "
              "_enable_collectives_timing() of the process group before it");
  return static_cast<float>(runtime::elapsedMs(*start_, *end_));
}

}  // namespace dipu::distributed
