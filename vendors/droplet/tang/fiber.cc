// SPDX-License-Identifier: Apache-2.0
#include "vendors/droplet/tang/fiber.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <new>

#ifdef TANG_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef TANG_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif

extern "C" {
void dipu_tang_switch_stack(void** save, void* load);
void dipu_tang_start_stack();
}

namespace dipu::tang {
namespace {

std::size_t pageBytes() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

std::size_t mappingBytes() { return pageBytes() + kFiberStackBytes; }

// A page without access rights, and the stack above it.
void* mapStack() {
  void* mapping =
      mmap(nullptr, mappingBytes(), PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) return nullptr;
  if (mprotect(mapping, pageBytes(), PROT_NONE) == 0) return mapping;
  munmap(mapping, mappingBytes());
  return nullptr;
}

// The frame that dipu_tang_switch_stack leaves, below `top`, such that it
// continues in dipu_tang_start_stack, which calls main(argument).
void* firstFrame(uintptr_t top, void (*main)(void*), void* argument) {
  const auto start = reinterpret_cast<uintptr_t>(&dipu_tang_start_stack);
  const auto function = reinterpret_cast<uintptr_t>(main);
  const auto value = reinterpret_cast<uintptr_t>(argument);
#if defined(__x86_64__)
  // r15, r14, r13, r12, rbx, rbp, return address; above it the stack pointer
  // is a multiple of 16, as a call wants it.
  constexpr std::size_t kWords = 9;
  auto* const frame = reinterpret_cast<uintptr_t*>(top) - kWords;
  frame[2] = value;
  frame[3] = function;
  frame[6] = start;
#else
  // x19 to x30, d8 to d15
  constexpr std::size_t kWords = 20;
  auto* const frame = reinterpret_cast<uintptr_t*>(top) - kWords;
  frame[0] = function;
  frame[1] = value;
  frame[11] = start;
#endif
  return frame;
}

#ifdef TANG_ADDRESS_SANITIZER
// The fiber that is switching away.
thread_local Fiber* leaving = nullptr;
#endif

}  // namespace

Fiber::Fiber() {
#ifdef TANG_THREAD_SANITIZER
  thread_sanitizer_ = __tsan_get_current_fiber();
#endif
}

std::unique_ptr<Fiber> Fiber::create(void (*main)(void*), void* argument,
                                     std::size_t number) {
  void* mapping = mapStack();
  if (mapping == nullptr) return nullptr;
  std::unique_ptr<Fiber> fiber(new (std::nothrow) Fiber(mapping));
  if (fiber == nullptr) {
    munmap(mapping, mappingBytes());
    return nullptr;
  }
  constexpr std::size_t kShiftBytes = 192;
  constexpr std::size_t kShifts = 20;
  const auto end = reinterpret_cast<uintptr_t>(mapping) + mappingBytes();
  fiber->stack_pointer_ =
      firstFrame(end - number % kShifts * kShiftBytes, main, argument);
  fiber->stack_bottom_ = static_cast<char*>(mapping) + pageBytes();
  fiber->stack_bytes_ = kFiberStackBytes;
#ifdef TANG_THREAD_SANITIZER
  fiber->thread_sanitizer_ = __tsan_create_fiber(0);
#endif
  return fiber;
}

Fiber::~Fiber() {
  if (mapping_ == nullptr) return;
#ifdef TANG_THREAD_SANITIZER
  __tsan_destroy_fiber(thread_sanitizer_);
#endif
#ifdef TANG_ADDRESS_SANITIZER
  __asan_unpoison_memory_region(stack_bottom_, stack_bytes_);
#endif
  munmap(mapping_, mappingBytes());
}

void Fiber::switchTo(Fiber* to) {
#ifdef TANG_ADDRESS_SANITIZER
  leaving = this;
  __sanitizer_start_switch_fiber(&fake_stack_, to->stack_bottom_,
                                 to->stack_bytes_);
#endif
#ifdef TANG_THREAD_SANITIZER
  __tsan_switch_to_fiber(to->thread_sanitizer_, 0);
#endif
  dipu_tang_switch_stack(&stack_pointer_, to->stack_pointer_);
  entered();
}

void Fiber::entered() {
#ifdef TANG_ADDRESS_SANITIZER
  // This also tells the bounds of the thread's own stack, once it is left.
  __sanitizer_finish_switch_fiber(fake_stack_, &leaving->stack_bottom_,
                                  &leaving->stack_bytes_);
#endif
}

}  // namespace dipu::tang
