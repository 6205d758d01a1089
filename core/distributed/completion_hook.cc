// SPDX-License-Identifier: Apache-2.0
#include "core/distributed/completion_hook.h"

#include <c10/util/Exception.h>
#include <c10/util/Logging.h>
#include <c10/util/thread_name.h>

#include <thread>
#include <utility>

namespace dipu::distributed {

CompletionHook::CompletionHook() : shared_(std::make_shared<Shared>()) {}

CompletionHook::~CompletionHook() {
  {
    const std::lock_guard<std::mutex> lock(shared_->mutex);
    shared_->is_ending = true;
  }
  shared_->changed.notify_all();
}

void CompletionHook::set(Hook hook) {
  const std::lock_guard<std::mutex> lock(shared_->mutex);
  TORCH_CHECK(!shared_->hook,
              "the process group has a completion hook already; a group takes "
              "one");
  shared_->hook = std::move(hook);
  std::thread([shared = shared_] { run(shared); }).detach();
}

void CompletionHook::call(std::shared_ptr<c10d::WorkInfo> info) {
  {
    const std::lock_guard<std::mutex> lock(shared_->mutex);
    if (!shared_->hook) return;
    shared_->calls.push_back(std::move(info));
  }
  shared_->changed.notify_all();
}

void CompletionHook::awaitIdle() {
  std::unique_lock<std::mutex> lock(shared_->mutex);
  shared_->changed.wait(
      lock, [this] { return shared_->calls.empty() && !shared_->is_calling; });
}

void CompletionHook::run(const std::shared_ptr<Shared>& shared) {
  c10::setThreadName("dicl_hook");
  std::unique_lock<std::mutex> lock(shared->mutex);
  while (true) {
    shared->changed.wait(
        lock, [&] { return shared->is_ending || !shared->calls.empty(); });
    if (shared->calls.empty()) return;
    const std::shared_ptr<c10d::WorkInfo> info = shared->calls.front();
    shared->calls.pop_front();
    shared->is_calling = true;
    lock.unlock();
    try {
      shared->hook(info);
    } catch (const std::exception& error) {
      LOG(WARNING) << "the completion hook of a process group failed: "
                   << error.what();
    }
    lock.lock();
    shared->is_calling = false;
    shared->changed.notify_all();
  }
}

}  // namespace dipu::distributed
