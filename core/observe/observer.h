// SPDX-License-Identifier: Apache-2.0
//
// Who is told of what happens on streams and to memory, for tools that look for
// missing synchronisation.
//
// Note [Observed happenings]
// The runtime and the allocator call the observer after the vendor has done, or
// been given, what the call says (onFree and onCopy: before), on the thread
// that asked for it. Without an observer, as at the start, that costs one load
// of a pointer. Kernels are not among the happenings: tools see the calls of
// operators (Note [Debug tools] in diopi_adapter/debug/tools.h).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace dipu::observe {

// A stream as c10 names it; id 0 is the default stream of the device.
struct Stream {
  int32_t device;
  int64_t id;
};

// A range of memory; `device` is DIPU_HOST for memory of the host.
struct Range {
  const void* ptr;
  std::size_t bytes;
  int32_t device;
};

// Functions may be called by any number of threads at once. Those of the first
// group may be called with locks of the allocator held, so they must neither
// call the device nor wait for a lock that others hold while they do, such as
// the interpreter's.
class Observer {
 public:
  // A mark was enqueued; events are told apart by their address, and marked
  // anew by a further record.
  virtual void onRecord(const void* event, Stream stream) noexcept = 0;
  // Later work of `stream` waits for the last mark of `event`.
  virtual void onWait(Stream stream, const void* event) noexcept = 0;
  // The host knows that the last mark, or all work of a stream or of a device,
  // has been reached: it waited, or asked and was told so.
  virtual void onEventDone(const void* event) noexcept = 0;
  virtual void onStreamDone(Stream stream) noexcept = 0;
  virtual void onDeviceDone(int32_t device) noexcept = 0;

  // No lock is held in the functions below. The allocator has handed out
  // memory, for work of `owner`.
  virtual void onAllocate(const Range& memory, Stream owner) noexcept = 0;
  // Memory goes back to the allocator, which gives it to later work of `owner`.
  // Work of `users` is waited for before that; of other streams it is not.
  virtual void onFree(const Range& memory, Stream owner,
                      const std::vector<Stream>& users) noexcept = 0;
  // Before a copy is enqueued. May throw; nothing is enqueued then.
  virtual void onCopy(const Range& to, const Range& from, Stream stream) = 0;

 protected:
  ~Observer() = default;
};

namespace detail {
extern std::atomic<Observer*> g_observer;
}  // namespace detail

// The observer, or null.
inline Observer* observer() noexcept {
  return detail::g_observer.load(std::memory_order_acquire);
}

// Null ends the observation. Calls on other threads may still be in the former
// observer, so it must live for ever.
void setObserver(Observer* observer) noexcept;

}  // namespace dipu::observe
