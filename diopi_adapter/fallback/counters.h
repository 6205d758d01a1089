// SPDX-License-Identifier: Apache-2.0
//
// Operator counters: what ran where.
//
//   fallback.<operator>  computed on the CPU instead; always counted
//   native.<operator>    computed by a DIOPI function; counted while
//                        countingNative() is true, so that off costs one load
//
// <operator> is the schema's name with its overload, "add.Tensor"; operators
// outside the aten namespace keep theirs, "mylib::op". Counters only grow and
// live until the process ends, so a reference can be kept. All functions may be
// called from any thread and never block for long.
#pragma once

#include <ATen/core/operator_name.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace dipu::fallback {

// A number that only grows.
class Counter {
 public:
  // Returns the value from before.
  uint64_t add(uint64_t count = 1) noexcept {
    return value_.fetch_add(count, std::memory_order_relaxed);
  }
  uint64_t value() const noexcept {
    return value_.load(std::memory_order_relaxed);
  }

 private:
  std::atomic<uint64_t> value_{0};
};

// The counter called `name`, made at zero when it does not exist yet. Takes a
// lock: keep the reference where a call is frequent.
Counter& counter(std::string_view name);

// Values of all counters that are not zero, by name.
std::map<std::string, uint64_t> snapshotCounters();

namespace detail {
inline constinit std::atomic<bool> g_counting_native{false};
}  // namespace detail

// Whether native calls are counted. Off at the start.
inline bool countingNative() noexcept {
  return detail::g_counting_native.load(std::memory_order_relaxed);
}
void setCountingNative(bool on) noexcept;

// "add.Tensor" for aten::add.Tensor, "mylib::op" for others.
std::string operatorLabel(const c10::OperatorName& name);

// What happens when an operator falls back.
enum class Policy {
  kWarn,    // a warning the first time each operator does; the default
  kSilent,  // it is only counted
  kError,   // the call throws c10::NotImplementedError instead
};
void setPolicy(Policy policy) noexcept;
Policy policy() noexcept;

// The reason of a fallback that the user asks for: it is counted, but no policy
// forbids it or warns of it.
inline constexpr char kForced[] = "it is forced to";

// The reason of a computation that a result of the device is compared with: it
// is no fallback, and not counted.
inline constexpr char kCompared[] = "it is compared with";

// Counts a fallback of `name` and applies the policy: warns, once per operator,
// or throws, and then counts nothing. `reason` completes the sentence
// "<operator> runs on the CPU: ...", in the user's terms; may be empty.
void countFallback(const c10::OperatorName& name, std::string_view reason = {});

// As above for a label, e.g. "copy_".
void countFallback(std::string_view label, std::string_view reason = {});

// Adds one to native.<label> while native calls are counted. For hand-written
// operators; generated wrappers keep a reference to their counter.
inline void countNative(std::string_view label);

namespace detail {
void addNative(std::string_view label);
}  // namespace detail

inline void countNative(std::string_view label) {
  if (__builtin_expect(countingNative(), 0)) detail::addNative(label);
}

}  // namespace dipu::fallback
