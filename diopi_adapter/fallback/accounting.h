// SPDX-License-Identifier: Apache-2.0
//
// Fallback accounting: what the operators cost that run on the CPU, and whether
// they may run there.
//
// Note [Fallback accounting]
// Whatever computes an operator on the CPU opens a FallbackScope before it
// reads or writes anything, and closes it when the results are back. The scope
// asks the user's settings, which may forbid the call; then it counts. Copies
// between host and device that the thread makes meanwhile belong to its
// innermost scope, and so does time: a fallback within another one is counted
// by itself, and the times of all records together are the time that fell
// back. Operators with a kernel of the device meet none of this.
// What the user's language knows, such as the line of the program, comes from
// a Frontend. It is asked where a record begins, not once per call.
// All functions may be called from any thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dipu::fallback {

// What happens when an operator falls back.
enum class Policy {
  kWarn,    // a warning the first time each operator does; the default
  kSilent,  // it is only counted
  kError,   // the call throws c10::NotImplementedError instead
};
void setPolicy(Policy policy);

// The number of calls from now on that may fall back, under any policy, before
// the next one throws. None, the default: no call with Policy::kError, else all
// of them. Forced calls, and those that the allow list names, are free.
void setBudget(std::optional<uint64_t> calls);

// What only the user's language can tell. The functions are called without
// locks, may take some of their own, and may throw, which ends the operator's
// call before it has begun.
struct Frontend {
  // Where the calling thread is in the user's program: "train.py:12"; "" when
  // it is in no line of it.
  std::string (*line)();
  // Whether the user's allow list names the operator: it neither throws nor
  // warns then. Kept until allowListChanged().
  bool (*allows)(const std::string& label);
};
// To be called once, with functions that are never unloaded. Without it there
// are no lines, and no operator is allowed.
void setFrontend(const Frontend& frontend);
void allowListChanged();

// The reason of a fallback that the user asks for: it is counted, but no policy
// forbids it or warns of it.
inline constexpr char kForced[] = "it is forced to";

// One operator and one reason.
struct FallbackRecord {
  std::string op;      // "add.Tensor", see operatorLabel
  std::string reason;  // completes "<operator> runs on the CPU: ..."
  uint64_t calls = 0;  // finished ones, those that failed included
  // From the beginning of the call until its results are back. It includes the
  // wait for work that the device still has to do for the arguments.
  uint64_t nanoseconds = 0;
  uint64_t bytes_to_host = 0;
  uint64_t bytes_to_device = 0;
  std::string line;  // of the first call, see Frontend::line
};

// All records with calls, in alphabetical order.
std::vector<FallbackRecord> fallbackRecords();

// Begins all records anew. The counters of counters.h go on.
void resetFallbackRecords();

namespace detail {
struct Record;
}  // namespace detail

// The time in which the calling thread computes one operator on the CPU. Scopes
// of one thread are nested; each is destroyed by the thread that made it.
class FallbackScope {
 public:
  // Counts fallback.<label>, and warns once per operator if the policy is to.
  // Throws c10::NotImplementedError, and then counts nothing, when policy or
  // budget forbid the call. `reason` is for the user, see FallbackRecord; empty
  // means that the device has no kernel.
  FallbackScope(std::string_view label, std::string_view reason);
  ~FallbackScope();
  FallbackScope(const FallbackScope&) = delete;
  FallbackScope& operator=(const FallbackScope&) = delete;

 private:
  friend void countBytesToHost(std::size_t bytes) noexcept;
  friend void countBytesToDevice(std::size_t bytes) noexcept;
  using Clock = std::chrono::steady_clock;

  detail::Record& record_;
  FallbackScope* const outer_;
  uint64_t bytes_to_host_ = 0;
  uint64_t bytes_to_device_ = 0;
  Clock::duration inner_time_{0};  // spent in scopes within this one
  const Clock::time_point start_;
};

// Called for each copy that crosses the device's border; of use only in a
// scope, else they do nothing.
void countBytesToHost(std::size_t bytes) noexcept;
void countBytesToDevice(std::size_t bytes) noexcept;

}  // namespace dipu::fallback
