// SPDX-License-Identifier: Apache-2.0
//
// Dynamic shared memory: one area per thread of the host.
#include <cstdlib>
#include <memory>
#include <stdexcept>

#include "vendors/droplet/tang/fiber.h"
#include "vendors/droplet/tang/tang_block.h"

#ifdef TANG_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#endif

namespace {

using tang::detail::kMaxSharedBytes;

constexpr std::size_t kAlignment = 64;

struct Free {
  void operator()(char* area) const {
#ifdef TANG_ADDRESS_SANITIZER
    __asan_unpoison_memory_region(area, kMaxSharedBytes);
#endif
    std::free(area);
  }
};

}  // namespace

void* tangBlockSharedMemory(std::size_t bytes) {
  static thread_local std::unique_ptr<char, Free> area(
      static_cast<char*>(std::aligned_alloc(kAlignment, kMaxSharedBytes)));
  if (area == nullptr) {
    throw std::runtime_error("no host memory for a block's shared memory");
  }
#ifdef TANG_ADDRESS_SANITIZER
  // What lies behind the launch's bytes is not the kernel's.
  __asan_unpoison_memory_region(area.get(), bytes);
  __asan_poison_memory_region(area.get() + bytes, kMaxSharedBytes - bytes);
#else
  static_cast<void>(bytes);
#endif
  return area.get();
}
