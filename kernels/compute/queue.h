// SPDX-License-Identifier: Apache-2.0
//
// The queue a compute function works on: a stream, scratch memory, and the name
// of what is done.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "softdevice/softdevice.h"

namespace dipu::kernels {

// Borrowed during the call. Scratch memory is device memory that stays valid
// for work enqueued by this call; the host may reuse it in stream order.
class Queue {
 public:
  using AllocateScratch = void* (*)(void* context, std::size_t bytes);

  // `name`, of static storage, is what failures, traces, counters and faults
  // call the work of this queue. Without one, failures say only what is wrong,
  // and the others give the work's place in its file.
  Queue(soft_stream* stream, AllocateScratch allocate, void* context,
        const char* name = nullptr)
      : stream_(stream), allocate_(allocate), context_(context), name_(name) {}

  soft_stream* stream() const { return stream_; }
  const char* name() const { return name_; }

  // Address that code running on the queue uses for device memory at `data`,
  // nullptr after an illegal address (the failure is already enqueued).
  template <typename T = void>
  T* translate(const void* data, std::size_t bytes) const {
    return static_cast<T*>(soft_translate(stream_, data, bytes));
  }

  // Device address of `bytes` of scratch memory, nullptr when exhausted.
  void* scratch(std::size_t bytes) const {
    return allocate_ == nullptr ? nullptr : allocate_(context_, bytes);
  }

  // Enqueues a copy of `work`; work() runs on the stream's worker.
  template <typename Work>
  bool launch(const Work& work) const {
    return launchPrefix(work, sizeof(Work));
  }

  // As launch, for a work whose last `sizeof(Work) - bytes` bytes are unused.
  template <typename Work>
  bool launchPrefix(const Work& work, std::size_t bytes) const {
    static_assert(std::is_trivially_copyable_v<Work>,
                  "a kernel captures plain values: addresses, sizes, scalars");
    auto run = [](void* payload) { (*static_cast<Work*>(payload))(); };
    return soft_launch_named(stream_, name_, run, &work, bytes) == SOFT_OK;
  }

 private:
  soft_stream* stream_;
  AllocateScratch allocate_;
  void* context_;
  const char* name_;
};

}  // namespace dipu::kernels
