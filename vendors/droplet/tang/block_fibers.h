// SPDX-License-Identifier: Apache-2.0
//
// The threads of one block while they wait for each other.
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <stdexcept>
#include <vector>

#include "vendors/droplet/tang/fiber.h"
#include "vendors/droplet/tang/tang_block.h"

// Note [Barriers]
// The compiler of the host cannot tell which kernels have barriers, so a block
// finds out while it runs. It starts as a plain loop over its threads, as if
// there were none. The first thread, still inside of the kernel that the loop
// called, meets the first barrier: from here on the block runs on fibers. The
// first thread waits on the stack that it has; each of the others starts on a
// fiber, comes to the barrier and hands on to the next, until the first one
// goes on. When it returns to the loop, the loop sees that the block has
// fibers and lets the others run to their ends.
//
// So threads run in turn, and in each turn all have to do what the first one
// did: reach a barrier or end. A thread that does otherwise has diverged; a
// card would hang or go on with wrong data, here the launch fails. For the same
// reason a barrier that another thread than the first meets in the plain loop
// is an error. Nothing is ever run twice.
//
// A kernel without barriers pays one test per thread, and none where the
// compiler can prove that the kernel does not write to the context: that is
// always so unless it writes bytes or calls functions that are not inlined.
namespace tang::detail {

// One per thread of the host, kept for its blocks to come.
class BlockFibers {
 public:
  // That of the calling thread.
  static BlockFibers& ofThread();

  // For the first thread of a block. Throws when there is no memory.
  void begin(const BlockContext* context);
  // A barrier of the running thread. Throws when the block has failed.
  void wait() { takeTurn(Turn::kBarrier); }
  // The first thread has ended.
  void finish() { takeTurn(Turn::kEnd); }
  // Unwinds the other threads after the first one has thrown.
  void cancel();

 private:
  using Fiber = dipu::tang::Fiber;

  enum class Turn { kBarrier, kEnd };
  struct Thread {
    std::unique_ptr<Fiber> fiber;
    BlockFibers* block = nullptr;
    uint3 index{};
    bool inside = false;  // has started the kernel and not left it
  };
  // Unwinds a thread of a block that has failed.
  struct Cancelled {};

  static void fiberMain(void* thread);
  void createFibers(std::size_t count);
  void runKernel(Thread* thread);
  void takeTurn(Turn turn);
  void endTurn();
  void fail(const std::runtime_error& error);
  void switchTo(std::size_t next);

  const BlockContext* context_ = nullptr;
  dim3 extents_;                 // of the block
  std::size_t count_ = 0;        // its threads
  std::size_t running_ = 0;      // the one that runs
  Turn turn_ = Turn::kBarrier;   // what the first thread did in this turn
  bool cancelled_ = false;       // the block ends without being done
  std::exception_ptr failure_;   // why; the first thread throws it
  std::vector<Thread> threads_;  // the pool; at 0 the thread's own stack
};

}  // namespace tang::detail
