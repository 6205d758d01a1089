// SPDX-License-Identifier: Apache-2.0
//
// Whether a group still works. The first failure is the one that counts.
#pragma once

#include <atomic>
#include <exception>
#include <mutex>
#include <string>

namespace dipu::distributed {

enum class FailureKind { kNone, kTimeout, kCommunicator, kRemote };

// Any thread.
class Health {
 public:
  // Ignored once the group has failed.
  void fail(FailureKind kind, const std::string& text);

  FailureKind kind() const { return kind_.load(std::memory_order_acquire); }
  bool isGood() const { return kind() == FailureKind::kNone; }

  // Throws c10::DistBackendError with the text if the group has failed.
  void check() const;
  // What check() throws; null while the group works.
  std::exception_ptr exception() const;

 private:
  std::atomic<FailureKind> kind_{FailureKind::kNone};
  mutable std::mutex mutex_;
  std::string text_;  // guarded by mutex_
};

}  // namespace dipu::distributed
