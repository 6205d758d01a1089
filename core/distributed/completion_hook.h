// SPDX-License-Identifier: Apache-2.0
//
// Calls what the user has registered for operations that are done. On a thread
// of its own, because such functions may wait for Python's lock, and the
// watchdog must not.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <torch/csrc/distributed/c10d/Work.hpp>

namespace dipu::distributed {

class CompletionHook {
 public:
  using Hook = std::function<void(std::shared_ptr<c10d::WorkInfo>)>;

  CompletionHook();
  // Does not wait for a call that runs, which may be waiting for a lock that
  // the caller holds.
  ~CompletionHook();
  CompletionHook(const CompletionHook&) = delete;
  CompletionHook& operator=(const CompletionHook&) = delete;

  // Once at most. Starts the thread.
  void set(Hook hook);
  // Enqueues a call; ignored without a hook.
  void call(std::shared_ptr<c10d::WorkInfo> info);
  // Blocks until all calls have returned.
  void awaitIdle();

 private:
  // Outlives the object while a call runs.
  struct Shared {
    std::mutex mutex;  // guards what follows; not held during a call
    std::condition_variable changed;
    Hook hook;
    std::deque<std::shared_ptr<c10d::WorkInfo>> calls;
    bool is_calling = false;
    bool is_ending = false;
  };

  static void run(const std::shared_ptr<Shared>& shared);

  const std::shared_ptr<Shared> shared_;
};

}  // namespace dipu::distributed
