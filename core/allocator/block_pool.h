// SPDX-License-Identifier: Apache-2.0
//
// Blocks and the free blocks of one stream.
//
// Note [Device allocator]
// The vendor gives segments; a segment is cut into blocks, a doubly linked list
// by address. A block belongs to a stream. Three structures hold blocks that
// are not in use, from fast to thorough:
//
//   recent    small blocks by exact size, last freed first. A free pushes, an
//             allocation of the same size pops; neighbours are not merged. A
//             training step asks for the same sizes over and over, so nearly
//             all small allocations end here.
//   free set  blocks ordered by size and address; merged with free neighbours,
//             searched for the best fit, split when too large.
//   pending   blocks that other streams may still use (recordStream); each
//             waits for one event per such stream.
//
// An allocation looks into recent, then the free set, then the free set again
// after pending events were polled and recent was merged into it, then asks
// the vendor, then gives all cached segments back and asks once more.
//
// One spin lock per device guards everything that belongs to it. Calls that may
// block or enqueue (the vendor's allocate, deallocate, synchronise and record)
// are made without the lock. Inside it the vendor is only asked whether events
// have passed, which does not block: once per stream with pending blocks and
// once per event that has passed, and only off the fast path. That keeps an
// event, its block and their place in the queue together. Such an event then
// goes back under the lock of the event pool.
#pragma once

#include <array>
#include <cstddef>
#include <set>
#include <vector>

#include "core/allocator/size_policy.h"
#include "core/runtime/stream.h"

namespace dipu::allocator {

class DeviceHeap;
class BlockPool;

enum class BlockState : unsigned char { kFree, kRecent, kInUse, kPending };

// A piece of a segment.
struct Block {
  std::byte* ptr;
  std::size_t size;
  // What the client asked for; less than size.
  std::size_t requested = 0;
  BlockPool* pool;
  Block* previous = nullptr;  // neighbours in the segment
  Block* next = nullptr;
  Block* next_recent = nullptr;
  // Streams other than the pool's that use the block.
  std::vector<const runtime::StreamRecord*> users{};
  // Events that must pass before the block is free.
  int pending_events = 0;
  BlockState state = BlockState::kFree;
  // Fixed by the segment: whether it serves small requests.
  bool small;

  bool isSplit() const { return previous != nullptr || next != nullptr; }
};

// Told about blocks that enter and leave the free set, for the statistics of
// free blocks that cannot be given back because a neighbour is in use.
class FreeBlockObserver {
 public:
  virtual void onFree(const Block& block) = 0;
  virtual void onTake(const Block& block) = 0;

 protected:
  ~FreeBlockObserver() = default;
};

// The unused blocks of one stream. Requires the heap's lock throughout.
class BlockPool {
 public:
  BlockPool(DeviceHeap& heap, const runtime::StreamRecord& stream,
            FreeBlockObserver& observer)
      : heap_(heap), stream_(stream), observer_(observer) {}

  DeviceHeap& heap() const { return heap_; }
  // Whose blocks they are.
  const runtime::StreamRecord& stream() const { return stream_; }

  // A recently freed block of exactly `size`, a small size; or null.
  Block* popRecent(std::size_t size) {
    Block*& head = recent_[binOf(size)];
    Block* block = head;
    if (__builtin_expect(block != nullptr, 1)) head = block->next_recent;
    return block;
  }

  void pushRecent(Block* block) {
    Block*& head = recent_[binOf(block->size)];
    block->state = BlockState::kRecent;
    block->next_recent = head;
    head = block;
  }

  // The best fit for `size` from the free set, split to it; or null.
  Block* take(std::size_t size);

  // Cuts `size` off the front of a block that is in no structure and puts the
  // rest into the free set, if it is worth splitting.
  void split(Block* block, std::size_t size);

  // Merges a block with its free neighbours and puts it into the free set.
  void put(Block* block);

  // Moves all recent blocks into the free set.
  void mergeRecent();

  // Takes every free block that is a whole segment out of the free set.
  void takeWholeSegments(std::vector<Block*>& segments);

 private:
  struct BySize {
    bool operator()(const Block* a, const Block* b) const {
      return a->size != b->size ? a->size < b->size : a->ptr < b->ptr;
    }
  };
  using FreeSet = std::set<Block*, BySize>;

  static std::size_t binOf(std::size_t size) {
    return size / kMinBlockSize - 1;
  }

  FreeSet& freeSet(bool small) { return small ? small_ : large_; }
  void insertFree(Block* block);
  void eraseFree(Block* block);
  // Joins `right`, which is in no structure, to its left neighbour.
  static void absorbNext(Block* left);

  DeviceHeap& heap_;
  const runtime::StreamRecord& stream_;
  FreeBlockObserver& observer_;
  std::array<Block*, kSmallSize / kMinBlockSize> recent_{};
  FreeSet small_;
  FreeSet large_;
};

}  // namespace dipu::allocator
