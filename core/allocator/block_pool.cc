// SPDX-License-Identifier: Apache-2.0
#include "core/allocator/block_pool.h"

#include <utility>

namespace dipu::allocator {

void BlockPool::insertFree(Block* block) {
  block->state = BlockState::kFree;
  freeSet(block->small).insert(block);
  observer_.onFree(*block);
}

void BlockPool::eraseFree(Block* block) {
  freeSet(block->small).erase(block);
  observer_.onTake(*block);
}

Block* BlockPool::take(std::size_t size) {
  FreeSet& blocks = freeSet(isSmall(size));
  Block key{.ptr = nullptr, .size = size, .pool = this, .small = false};
  const auto found = blocks.lower_bound(&key);
  if (found == blocks.end() || !mayServe((*found)->size, size)) return nullptr;
  Block* block = *found;
  eraseFree(block);
  split(block, size);
  return block;
}

void BlockPool::split(Block* block, std::size_t size) {
  const std::size_t remaining = block->size - size;
  if (!shouldSplit(remaining, size)) return;
  auto* rest = new Block{.ptr = block->ptr + size,
                         .size = remaining,
                         .pool = this,
                         .previous = block,
                         .next = block->next,
                         .small = block->small};
  if (rest->next != nullptr) rest->next->previous = rest;
  block->next = rest;
  block->size = size;
  insertFree(rest);
}

void BlockPool::absorbNext(Block* left) {
  Block* right = left->next;
  left->size += right->size;
  left->next = right->next;
  if (left->next != nullptr) left->next->previous = left;
  delete right;
}

void BlockPool::put(Block* block) {
  // The left block survives a merge, so the first block of a segment is the
  // same object for the segment's life.
  if (block->next != nullptr && block->next->state == BlockState::kFree) {
    eraseFree(block->next);
    absorbNext(block);
  }
  Block* left = block->previous;
  if (left != nullptr && left->state == BlockState::kFree) {
    eraseFree(left);
    absorbNext(left);
    block = left;
  }
  insertFree(block);
}

void BlockPool::mergeRecent() {
  for (Block*& head : recent_) {
    for (Block* block = std::exchange(head, nullptr); block != nullptr;) {
      Block* next = block->next_recent;
      put(block);
      block = next;
    }
  }
}

void BlockPool::takeWholeSegments(std::vector<Block*>& segments) {
  for (FreeSet* blocks : {&small_, &large_}) {
    for (auto it = blocks->begin(); it != blocks->end();) {
      Block* block = *it;
      if (block->isSplit()) {
        ++it;
        continue;
      }
      it = blocks->erase(it);
      observer_.onTake(*block);
      segments.push_back(block);
    }
  }
}

}  // namespace dipu::allocator
