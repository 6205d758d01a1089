// SPDX-License-Identifier: Apache-2.0
//
// tang's kernel language, the part that runs a grid. Use tang_kernel.h.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <type_traits>

#include "softdevice/softdevice.h"
#include "vendors/droplet/tang/tang_block.h"

namespace tang::detail {

struct Shape {
  dim3 grid;
  dim3 block;
  std::size_t shared_bytes;
  uint64_t blocks() const { return uint64_t{grid.x} * grid.y * grid.z; }
  uint64_t threads() const { return blocks() * block.x * block.y * block.z; }
};

// Whether the block's first thread met a barrier; then it is done.
inline bool finishOnFibers(BlockContext& context) {
  if (__builtin_expect(context.fibers == nullptr, true)) return false;
  tangBlockFinish(&context);
  return true;
}

// One thread of the kernel, with its parameters P.
template <typename Call, typename... P>
struct Body {
  Call call;
  // A byte that is written may be one of the context, for all that the compiler
  // knows.
  static constexpr bool kWritesBytes =
      ((std::is_pointer_v<P> && !std::is_const_v<std::remove_pointer_t<P>> &&
        sizeof(std::conditional_t<std::is_void_v<std::remove_pointer_t<P>>,
                                  char, std::remove_pointer_t<P>>) == 1) ||
       ...);
  void operator()() const { call(); }
};

// Runs the threads of one block.
//
// After the first thread it has to see whether that met a barrier, see
// Note [Barriers] in block_fibers.h. The test stands in the loop, where it is
// compiled away; if that cannot be, the first thread runs before the loop.
template <typename Body>
void runThreads(const dim3& block, BlockContext& context, const Body& body) {
  context.fibers = nullptr;
  unsigned x = 0;
  if constexpr (Body::kWritesBytes) {
    threadIdx = {0, 0, 0};
    context.run(context.body);
    if (finishOnFibers(context)) return;
    x = 1;
  }
  for (unsigned z = 0; z < block.z; ++z) {
    threadIdx.z = z;
    for (unsigned y = 0; y < block.y; ++y) {
      threadIdx.y = y;
      for (; x < block.x; ++x) {
        threadIdx.x = x;
        body();
        if constexpr (!Body::kWritesBytes) {
          if (finishOnFibers(context)) return;
        }
      }
      x = 0;
    }
  }
}

// Runs the blocks [first, last). Everything is inlined into this function, so
// the compiler sees the kernel inside of the loop over the threads and can
// vectorise it. `body` is this function's own, so that it knows the values.
template <typename Body>
__attribute__((noinline, flatten)) void runBlocks(uint64_t first, uint64_t last,
                                                  dim3 grid, dim3 block,
                                                  BlockContext& context,
                                                  Body body) {
  gridDim = grid;
  blockDim = block;
  for (uint64_t index = first; index < last; ++index) {
    blockIdx = {static_cast<unsigned>(index % grid.x),
                static_cast<unsigned>(index / grid.x % grid.y),
                static_cast<unsigned>(index / grid.x / grid.y)};
    runThreads(block, context, body);
  }
}

// A part of the grid, on one thread of the host.
template <typename Body>
void runPart(uint64_t first, uint64_t last, const Shape& shape,
             const Body& body) {
  BlockContext context{
      [](const void* kernel) { (*static_cast<const Body*>(kernel))(); },
      &body,
      &threadIdx,
      &blockIdx,
      shape.block,
      nullptr,
      nullptr};
  if (shape.shared_bytes != 0) {
    context.shared = tangBlockSharedMemory(shape.shared_bytes);
  }
  current_context = &context;
  try {
    runBlocks(first, last, shape.grid, shape.block, context, body);
  } catch (...) {
    tangBlockAbort(&context);
    current_context = nullptr;
    throw;
  }
  current_context = nullptr;
}

// The first exception of a team, which must not leave the parallel region.
class TeamFailure {
 public:
  void take() {
    if (!taken_.exchange(true)) error_ = std::current_exception();
  }
  void rethrow() const {
    if (error_ != nullptr) std::rethrow_exception(error_);
  }

 private:
  std::atomic<bool> taken_{false};
  std::exception_ptr error_;
};

template <typename Body>
void runGrid(const Shape& shape, const Body& body) {
  const uint64_t blocks = shape.blocks();
#ifdef _OPENMP
  // Below this number of threads waking a team takes longer than it saves.
  constexpr uint64_t kTeamThreads = 2048;
  if (blocks > 1 && shape.threads() >= kTeamThreads) {
    TeamFailure failure;
    const uint64_t team = static_cast<uint64_t>(soft_team_begin());
#pragma omp parallel for num_threads(static_cast<int>(team)) schedule(static)
    for (uint64_t part = 0; part < team; ++part) {
      try {
        runPart(blocks * part / team, blocks * (part + 1) / team, shape, body);
      } catch (...) {
        failure.take();
      }
    }
    soft_team_end();
    failure.rethrow();
    return;
  }
#endif
  runPart(0, blocks, shape, body);
}

}  // namespace tang::detail
