// SPDX-License-Identifier: Apache-2.0
#include "vendors/droplet/tang/block_fibers.h"

#include <cstdio>
#include <stdexcept>
#include <string>
#include <utility>

namespace tang::detail {
namespace {

std::string describe(const char* what, const uint3& index) {
  char text[64];
  std::snprintf(text, sizeof(text), "%s (%u, %u, %u)", what, index.x, index.y,
                index.z);
  return text;
}

std::size_t volume(const dim3& extents) {
  return std::size_t{extents.x} * extents.y * extents.z;
}

uint3 indexOf(std::size_t thread, const dim3& extents) {
  const auto number = static_cast<unsigned>(thread);
  return {number % extents.x, number / extents.x % extents.y,
          number / extents.x / extents.y};
}

// What a card would hang at, or go on from with wrong data.
std::runtime_error divergence(const BlockContext& context, const uint3& waiting,
                              const uint3& ended) {
  return std::runtime_error(
      "in " + describe("block", *context.block) + " " +
      describe("thread", waiting) +
      " waits at a barrier (__syncthreads) while " + describe("thread", ended) +
      " has ended; every thread of a block has to reach each barrier");
}

constexpr uint3 kFirst{0, 0, 0};

bool isFirst(const uint3& thread) {
  return (thread.x | thread.y | thread.z) == 0;
}

}  // namespace

BlockFibers& BlockFibers::ofThread() {
  static thread_local BlockFibers fibers;
  return fibers;
}

void BlockFibers::createFibers(std::size_t count) {
  if (threads_.empty()) {
    threads_.resize(1);
    threads_[0].fiber = std::make_unique<Fiber>();
  }
  // A fiber refers to its element.
  threads_.reserve(kMaxThreadsPerBlock);
  while (threads_.size() < count) {
    const std::size_t number = threads_.size();
    Thread& thread = threads_.emplace_back();
    thread.block = this;
    thread.fiber = Fiber::create(fiberMain, &thread, number);
    if (thread.fiber != nullptr) continue;
    threads_.pop_back();
    throw std::runtime_error(
        "the system has no memory for the stacks of a block of " +
        std::to_string(count) +
        " threads with barriers; use smaller blocks or fewer threads "
        "(OMP_NUM_THREADS), or raise vm.max_map_count");
  }
}

void BlockFibers::begin(const BlockContext* context) {
  const std::size_t count = volume(context->extents);
  createFibers(count);
  const dim3& extents = context->extents;
  if (count_ != count || extents_.x != extents.x || extents_.y != extents.y) {
    for (std::size_t i = 0; i < count; ++i) {
      threads_[i].index = indexOf(i, extents);
    }
  }
  context_ = context;
  extents_ = extents;
  count_ = count;
  running_ = 0;
  cancelled_ = false;
  failure_ = nullptr;
}

void BlockFibers::fiberMain(void* argument) {
  auto* const thread = static_cast<Thread*>(argument);
  thread->fiber->entered();
  for (;;) {
    thread->block->runKernel(thread);
    // Not inside of a handler: the exceptions being handled are known per
    // thread of the host.
    thread->block->endTurn();
  }
}

void BlockFibers::runKernel(Thread* thread) {
  thread->inside = true;
  try {
    context_->run(context_->body);
  } catch (const Cancelled&) {
  } catch (...) {
    if (failure_ == nullptr) failure_ = std::current_exception();
  }
  thread->inside = false;
}

void BlockFibers::endTurn() {
  if (failure_ == nullptr && !cancelled_ && turn_ != Turn::kEnd) {
    fail(divergence(*context_, kFirst, threads_[running_].index));
  }
  const bool broken = failure_ != nullptr || cancelled_;
  switchTo(broken || running_ + 1 == count_ ? 0 : running_ + 1);
}

void BlockFibers::takeTurn(Turn turn) {
  if (cancelled_) throw Cancelled{};
  if (running_ == 0) {
    turn_ = turn;
  } else if (turn != turn_) {
    fail(divergence(*context_, threads_[running_].index, kFirst));
  }
  const bool last = failure_ != nullptr || running_ + 1 == count_;
  switchTo(last ? 0 : running_ + 1);
  if (cancelled_) throw Cancelled{};
  if (running_ == 0 && failure_ != nullptr) {
    cancel();
    std::rethrow_exception(std::exchange(failure_, nullptr));
  }
}

void BlockFibers::fail(const std::runtime_error& error) {
  failure_ = std::make_exception_ptr(error);
}

void BlockFibers::cancel() {
  cancelled_ = true;
  for (std::size_t i = 1; i < count_; ++i) {
    if (threads_[i].inside) switchTo(i);
  }
}

void BlockFibers::switchTo(std::size_t next) {
  Fiber* const from = threads_[running_].fiber.get();
  running_ = next;
  *context_->thread = threads_[next].index;
  from->switchTo(threads_[next].fiber.get());
}

}  // namespace tang::detail

using tang::detail::BlockContext;
using tang::detail::BlockFibers;
using tang::detail::divergence;
using tang::detail::isFirst;
using tang::detail::kFirst;
using tang::detail::volume;

void tangBlockBarrier(BlockContext* context) {
  if (context == nullptr) {
    throw std::logic_error("__syncthreads is called outside of a kernel");
  }
  if (context->fibers == nullptr) {
    if (!isFirst(*context->thread)) {
      throw divergence(*context, *context->thread, kFirst);
    }
    if (volume(context->extents) == 1) return;
    BlockFibers& fibers = BlockFibers::ofThread();
    fibers.begin(context);
    context->fibers = &fibers;
  }
  context->fibers->wait();
}

void tangBlockFinish(BlockContext* context) { context->fibers->finish(); }

void tangBlockAbort(BlockContext* context) {
  if (context->fibers != nullptr) context->fibers->cancel();
}
