// SPDX-License-Identifier: Apache-2.0
//
// A fiber: a function with a stack of its own that hands the running thread
// over instead of returning.
#pragma once

#include <cstddef>
#include <memory>

// Which sanitizer the build has: gcc defines a macro, clang a feature.
#if defined(__has_feature)
#define TANG_HAS_FEATURE(name) __has_feature(name)
#else
#define TANG_HAS_FEATURE(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || TANG_HAS_FEATURE(address_sanitizer)
#define TANG_ADDRESS_SANITIZER 1
#endif
#if defined(__SANITIZE_THREAD__) || TANG_HAS_FEATURE(thread_sanitizer)
#define TANG_THREAD_SANITIZER 1
#endif

namespace dipu::tang {

// Bytes of a fiber's stack. Sanitizers make the frames of functions larger.
#if defined(TANG_ADDRESS_SANITIZER) || defined(TANG_THREAD_SANITIZER)
inline constexpr std::size_t kFiberStackBytes = 256 << 10;
#else
inline constexpr std::size_t kFiberStackBytes = 64 << 10;
#endif

// Used by one thread of the host only. Below a stack lies a page without
// access rights, so overflowing it faults instead of writing elsewhere.
class Fiber {
 public:
  // Stands for the stack that the thread runs on already.
  Fiber();
  // A stack on which the first switch calls main(argument), which never
  // returns. NULL when the system has no memory for it. `number` shifts where
  // the frames start, so that those of many fibers do not compete for the same
  // lines of the cache.
  static std::unique_ptr<Fiber> create(void (*main)(void*), void* argument,
                                       std::size_t number);
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  // The fiber must not be the running one. Nothing on its stack is destroyed.
  ~Fiber();

  // Continues in `to` and returns once something switches back. `this` is the
  // running fiber.
  void switchTo(Fiber* to);
  // What a fiber's main calls first.
  void entered();

 private:
  explicit Fiber(void* mapping) : mapping_(mapping) {}

  void* mapping_ = nullptr;        // guard page and stack, NULL without
  void* stack_pointer_ = nullptr;  // while it does not run
  // For the sanitizers, which follow the stacks.
  void* thread_sanitizer_ = nullptr;
  void* fake_stack_ = nullptr;
  const void* stack_bottom_ = nullptr;
  std::size_t stack_bytes_ = 0;
};

}  // namespace dipu::tang
