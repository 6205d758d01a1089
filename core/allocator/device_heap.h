// SPDX-License-Identifier: Apache-2.0
//
// All memory of one device: its segments, the pools of its streams, and the
// statistics. See Note [Device allocator] in block_pool.h.
#pragma once

#include <c10/core/CachingDeviceAllocator.h>

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/allocator/block_pool.h"
#include "core/allocator/spin_lock.h"
#include "core/runtime/event.h"
#include "core/runtime/stream.h"

namespace dipu::allocator {

using c10::CachingDeviceAllocator::DeviceStats;

// Thread-safe. Never destroyed.
class DeviceHeap final : private FreeBlockObserver {
 public:
  explicit DeviceHeap(c10::DeviceIndex device) : device_(device) {}

  c10::DeviceIndex device() const { return device_; }

  // The blocks of `stream`, a stream of this device; created on first use.
  BlockPool& poolOf(runtime::StreamRecord& stream) {
    void* pool = stream.allocator_pool.load(std::memory_order_acquire);
    return __builtin_expect(pool != nullptr, 1) ? *static_cast<BlockPool*>(pool)
                                                : createPool(stream);
  }

  // A block of at least `bytes` > 0 from `pool`, a pool of this heap. Throws
  // c10::OutOfMemoryError. Blocks only when the vendor is asked for memory.
  Block* allocate(BlockPool& pool, std::size_t bytes);

  // Takes a block back. Enqueues events when other streams use it.
  void free(Block* block) noexcept;

  // Announces that `stream`, of any device, uses the block.
  void recordStream(Block* block, const runtime::StreamRecord& stream);

  // Gives all segments back that hold no block in use. Blocks until the device
  // is idle, because work that was enqueued before may still use them.
  void emptyCache();

  // The block in use that holds `ptr`, with its range; null when there is none.
  // The block itself may be used as long as the caller keeps it allocated.
  struct Found {
    Block* block = nullptr;
    std::byte* ptr = nullptr;
    std::size_t size = 0;
  };
  Found find(const void* ptr);

  DeviceStats stats();
  void resetAccumulatedStats();
  void resetPeakStats();

  // Bytes in use and bytes taken from the vendor, for the profiler.
  std::pair<std::size_t, std::size_t> usage();

 private:
  struct PendingFree {
    runtime::PooledEvent event;
    Block* block;
  };
  // Events of one stream pass in order.
  using PendingByStream =
      std::map<const runtime::StreamRecord*, std::deque<PendingFree>>;

  void onFree(const Block& block) override;
  void onTake(const Block& block) override;

  BlockPool& createPool(runtime::StreamRecord& stream);

  Block* allocateSlow(BlockPool& pool, std::size_t bytes);
  Block* tryCached(BlockPool& pool, std::size_t bytes, std::size_t size);
  Block* reserve(BlockPool& pool, std::size_t bytes, std::size_t size);
  // Null when memory is short; `*out_why` is then the vendor's text.
  std::byte* tryVendorAllocate(std::size_t bytes, std::string* out_why);
  void releaseSegments(const std::vector<Block*>& segments);
  // `why`: the vendor's text, if it was asked.
  [[noreturn]] void throwOutOfMemory(std::size_t bytes,
                                     const std::string& why = "");

  // Records one event per user. `block` is in no structure.
  void deferFree(Block* block) noexcept;
  // Blocks until all streams with pending events are idle.
  void finishPending();

  // The functions below require lock_.
  Block* addSegment(BlockPool& pool, std::byte* ptr, std::size_t bytes,
                    std::size_t size);
  // Forgets and deletes a block that is a whole segment.
  void removeSegment(Block* block);
  void markInUse(Block* block, std::size_t requested);
  // Ends a free: no stream but the pool's uses the block any more.
  void giveBack(Block* block);
  void mergeRecent();
  void pollPending();

  const c10::DeviceIndex device_;
  SpinLock lock_;  // guards everything below
  DeviceStats stats_;
  std::vector<std::unique_ptr<BlockPool>> pools_;
  // First block of each segment by address.
  std::map<const std::byte*, Block*> segments_;
  PendingByStream pending_;
};

// The heap of `device`, a valid index; created on first use.
DeviceHeap& heapOf(c10::DeviceIndex device);

// The heap of `device` if it has been used, else null.
DeviceHeap* findHeap(c10::DeviceIndex device) noexcept;

}  // namespace dipu::allocator
