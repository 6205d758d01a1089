// SPDX-License-Identifier: Apache-2.0
#include "core/allocator/device_heap.h"

#include <c10/util/Logging.h>

#include <exception>
#include <utility>

#include "core/allocator/stat_arrays.h"
#include "core/runtime/stream.h"

namespace dipu::allocator {
namespace {

using runtime::StreamRecord;
using Lock = std::lock_guard<SpinLock>;

}  // namespace

BlockPool& DeviceHeap::createPool(StreamRecord& stream) {
  std::unique_ptr<BlockPool> created(new BlockPool(*this, stream, *this));
  const Lock lock(lock_);
  void* pool = stream.allocator_pool.load(std::memory_order_relaxed);
  if (pool == nullptr) {
    pool = created.get();
    pools_.push_back(std::move(created));
    stream.allocator_pool.store(pool, std::memory_order_release);
  }
  return *static_cast<BlockPool*>(pool);
}

void DeviceHeap::onFree(const Block& block) {
  if (!block.isSplit()) return;
  increase(stats_.inactive_split, block.small, 1);
  increase(stats_.inactive_split_bytes, block.small, block.size);
}

void DeviceHeap::onTake(const Block& block) {
  if (!block.isSplit()) return;
  decrease(stats_.inactive_split, block.small, 1);
  decrease(stats_.inactive_split_bytes, block.small, block.size);
}

void DeviceHeap::markInUse(Block* block, std::size_t requested) {
  const bool small = block->small;
  block->state = BlockState::kInUse;
  block->requested = requested;
  increase(stats_.allocation, small, 1);
  increase(stats_.active, small, 1);
  increase(stats_.allocated_bytes, small, block->size);
  increase(stats_.active_bytes, small, block->size);
  increase(stats_.requested_bytes, small, requested);
  if (!small && isOversize(block->size)) {
    stats_.oversize_allocations.increase(1);
  }
}

Block* DeviceHeap::allocate(BlockPool& pool, std::size_t bytes) {
  if (isSmall(bytes)) {
    const std::size_t size = roundSize(bytes);
    const Lock lock(lock_);
    if (Block* block = pool.popRecent(size)) {
      markInUse(block, bytes);
      return block;
    }
  }
  return allocateSlow(pool, bytes);
}

Block* DeviceHeap::allocateSlow(BlockPool& pool, std::size_t bytes) {
  if (bytes > kMaxRequest) throwOutOfMemory(bytes);
  const std::size_t size = roundSize(bytes);
  Block* block = tryCached(pool, bytes, size);
  return block != nullptr ? block : reserve(pool, bytes, size);
}

Block* DeviceHeap::tryCached(BlockPool& pool, std::size_t bytes,
                             std::size_t size) {
  const Lock lock(lock_);
  pollPending();
  Block* block = isSmall(size) ? pool.popRecent(size) : nullptr;
  if (block == nullptr) block = pool.take(size);
  if (block == nullptr && isSmall(size)) {
    pool.mergeRecent();
    block = pool.take(size);
  }
  if (block != nullptr) markInUse(block, bytes);
  return block;
}

void DeviceHeap::free(Block* block) noexcept {
  {
    const Lock lock(lock_);
    const bool small = block->small;
    decrease(stats_.allocation, small, 1);
    decrease(stats_.allocated_bytes, small, block->size);
    decrease(stats_.requested_bytes, small, block->requested);
    if (!small && isOversize(block->size)) {
      stats_.oversize_allocations.decrease(1);
    }
    if (__builtin_expect(block->users.empty(), 1)) {
      giveBack(block);
      return;
    }
    block->state = BlockState::kPending;
    block->pending_events = static_cast<int>(block->users.size());
  }
  deferFree(block);
}

void DeviceHeap::giveBack(Block* block) {
  decrease(stats_.active, block->small, 1);
  decrease(stats_.active_bytes, block->small, block->size);
  if (block->small) {
    block->pool->pushRecent(block);
  } else {
    block->pool->put(block);
  }
}

void DeviceHeap::deferFree(Block* block) noexcept {
  std::vector<const StreamRecord*> users;
  users.swap(block->users);
  for (const StreamRecord* user : users) {
    try {
      runtime::PooledEvent event = runtime::acquireEvent(user->device);
      runtime::recordEvent(*event, *user);
      const Lock lock(lock_);
      pending_[user].push_back({std::move(event), block});
    } catch (const std::exception& error) {
      // The stream may still use the block, so it must never be reused.
      LOG(ERROR) << block->size << " bytes of device memory are lost, because "
                 << "their use on another stream cannot be tracked: "
                 << error.what();
    }
  }
}

void DeviceHeap::pollPending() {
  for (auto& [stream, frees] : pending_) {
    while (!frees.empty() && runtime::queryEvent(*frees.front().event)) {
      Block* block = frees.front().block;
      frees.pop_front();
      if (--block->pending_events == 0) giveBack(block);
    }
  }
}

void DeviceHeap::recordStream(Block* block, const StreamRecord& stream) {
  if (stream.allocator_pool.load(std::memory_order_relaxed) == block->pool) {
    return;
  }
  const Lock lock(lock_);
  for (const StreamRecord* user : block->users) {
    if (user == &stream) return;
  }
  block->users.push_back(&stream);
}

}  // namespace dipu::allocator
