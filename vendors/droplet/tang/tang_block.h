// SPDX-License-Identifier: Apache-2.0
//
// tang's kernel language, the part that a kernel is written with: its thread's
// place in the grid, barriers and shared memory. Use tang_kernel.h, which adds
// atomics and the launch.
//
//   __global__ void blockSum(const float* in, float* out) {
//     __shared__ float tile[256];
//     tile[threadIdx.x] = in[blockIdx.x * 256 + threadIdx.x];
//     __syncthreads();
//     for (unsigned half = 128; half > 0; half /= 2) {
//       if (threadIdx.x < half) tile[threadIdx.x] += tile[threadIdx.x + half];
//       __syncthreads();
//     }
//     if (threadIdx.x == 0) out[blockIdx.x] = tile[0];
//   }
#pragma once

#include <cstddef>
#include <stdexcept>
#include <type_traits>

#include "vendors/droplet/tang/tang_types.h"

// Mark kernels and what they call. The host's compiler needs no more.
#define __global__
#define __device__

// An array or scalar of a kernel that the threads of one block share. Each
// thread of the host has its own, and runs one block at a time. Its contents
// at the start of a block are unspecified, so its type needs no constructor.
// Memory whose size the launch chooses is tang::dynamicShared().
#define __shared__ static thread_local

struct uint3 {
  unsigned x, y, z;
};

namespace tang::detail {

inline constexpr unsigned kMaxThreadsPerBlock = 1024;
inline constexpr std::size_t kMaxSharedBytes = 48 << 10;  // dynamic, per block

class BlockFibers;

// The blocks that a thread of the host runs, as the runtime has to know them.
struct BlockContext {
  void (*run)(const void* body);  // one thread of the block: *thread
  const void* body;
  uint3* thread;       // threadIdx of the library that holds the kernel
  const uint3* block;  // its blockIdx
  dim3 extents;        // of a block
  void* shared;        // dynamic shared memory, NULL without
  // Not NULL from the current block's first barrier on.
  BlockFibers* fibers;
};

}  // namespace tang::detail

// Where the running thread of a kernel stands. At a fixed distance from the
// thread pointer, so reading one is one instruction, and often none.
#define TANG_KERNEL_STATE \
  inline thread_local __attribute__((tls_model("initial-exec")))
TANG_KERNEL_STATE uint3 threadIdx{0, 0, 0};
TANG_KERNEL_STATE uint3 blockIdx{0, 0, 0};
TANG_KERNEL_STATE dim3 blockDim{};
TANG_KERNEL_STATE dim3 gridDim{};
namespace tang::detail {
TANG_KERNEL_STATE BlockContext* current_context = nullptr;
}  // namespace tang::detail
#undef TANG_KERNEL_STATE

// Parts of the runtime library that kernels use. They throw what makes the
// launch fail.
extern "C" {
// The dynamic shared memory of the calling thread of the host.
TANG_API void* tangBlockSharedMemory(std::size_t bytes);
// A barrier of the running thread. NULL: no kernel runs, which is an error.
TANG_API void tangBlockBarrier(tang::detail::BlockContext* context);
// The block's first thread has ended after a barrier; runs the others to their
// end.
TANG_API void tangBlockFinish(tang::detail::BlockContext* context);
// The block's first thread has thrown: ends the others. Throws nothing.
TANG_API void tangBlockAbort(tang::detail::BlockContext* context);
}

// Waits until all threads of the block have come here; what they wrote before
// is then visible to all. Every thread of the block has to reach each barrier:
// one that ends before, or stays away, makes the launch fail.
//
// See Note [Barriers] in block_fibers.h for how it works. A thread other than
// the first of a block has 64 KiB of stack.
inline void __syncthreads() {
  tangBlockBarrier(::tang::detail::current_context);
}

namespace tang {

// The block's dynamic shared memory: the launch's sharedBytes, aligned to 64,
// unspecified at the start of a block. What `extern __shared__ T name[]` names
// on a card.
template <typename T>
T* dynamicShared() {
  static_assert(std::is_trivial_v<T>, "shared memory runs no constructors");
  const detail::BlockContext* context = detail::current_context;
  if (context == nullptr || context->shared == nullptr) {
    throw std::logic_error(
        "dynamic shared memory is used, but the launch's sharedBytes is 0");
  }
  return static_cast<T*>(context->shared);
}

}  // namespace tang
