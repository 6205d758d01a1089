// SPDX-License-Identifier: Apache-2.0
//
// Operator counters: what ran where.
//
//   fallback.<operator>  computed on the CPU instead; always counted, by
//                        accounting.h, which knows more about it
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
