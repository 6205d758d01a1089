// SPDX-License-Identifier: Apache-2.0
#include "core/distributed/work.h"

#include <c10/util/Exception.h>
#include <c10/util/StringUtil.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "core/runtime/device.h"

namespace dipu::distributed {
namespace {

// How long the thread sleeps between two looks at an operation; grows.
constexpr std::chrono::microseconds kShortestSleep{20};
constexpr std::chrono::microseconds kLongestSleep{1000};

}  // namespace

WorkDICL::WorkDICL(Setup setup, std::shared_ptr<Operation> operation)
    : Work(setup.rank, setup.type, setup.title, setup.outputs),
      setup_(std::move(setup)),
      operation_(std::move(operation)),
      future_(c10::make_intrusive<c10::ivalue::Future>(
          c10::ListType::create(c10::TensorType::get()),
          std::vector<c10::Device>{{runtime::kDeviceType, setup_.device}})) {
  future_->markCompleted(c10::IValue(setup_.outputs));
  // What the profiler shows is the call; the work has spans of its own.
  if (recordFunctionEndCallback_) recordFunctionEndCallback_();
}

bool WorkDICL::isCompleted() {
  return operation_->isOver() || !setup_.health->isGood();
}

bool WorkDICL::isSuccess() const { return exception() == nullptr; }

std::exception_ptr WorkDICL::exception() const {
  const std::exception_ptr own = operation_->exception();
  if (own != nullptr || operation_->isOver()) return own;
  return setup_.health->exception();
}

void WorkDICL::throwIfFailed() const {
  if (const std::exception_ptr failed = exception()) {
    std::rethrow_exception(failed);
  }
}

void WorkDICL::synchronize() {
  throwIfFailed();
  operation_->block(runtime::currentStreamRecord(setup_.device));
}

bool WorkDICL::wait(std::chrono::milliseconds timeout) {
  synchronize();
  if (setup_.is_blocking || timeout != kNoTimeout) awaitEnd(timeout);
  return true;
}

void WorkDICL::awaitEnd(std::chrono::milliseconds timeout) {
  const Clock::time_point begin = Clock::now();
  std::chrono::microseconds sleep = kShortestSleep;
  while (!operation_->isOver() && setup_.health->isGood()) {
    if (timeout != kNoTimeout && Clock::now() - begin > timeout) {
      C10_THROW_ERROR(
          DistBackendError,
          c10::str("rank ", setup_.rank, " waited ", timeout.count(),
                   " ms for ", operation_->description().text(),
                   ", which is not done; it goes on, and the group fails when "
                   "its own timeout of ",
                   operation_->timeout().count(), " ms is over"));
    }
    std::this_thread::sleep_for(sleep);
    sleep = std::min(2 * sleep, kLongestSleep);
  }
  throwIfFailed();
}

}  // namespace dipu::distributed
