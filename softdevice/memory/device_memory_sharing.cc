// SPDX-License-Identifier: Apache-2.0
//
// The part of DeviceMemory that deals with other processes.
#include <sys/mman.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "softdevice/base/machine.h"
#include "softdevice/base/status.h"
#include "softdevice/memory/device_memory.h"

namespace dipu::softdevice {

soft_status DeviceMemory::share(const char* function, const void* ptr,
                                bool may_move, SharedPart* out_part) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = blocks_.find(offsetOf(ptr));
  if (found == blocks_.end()) {
    return fail(SOFT_INVALID_VALUE,
                "%s: %p is not the start of an allocation of device %d",
                function, ptr, map_.device);
  }
  const auto& [start, block] = *found;
  if (block.opens != 0) {
    return fail(SOFT_NOT_PERMITTED,
                "%s: %p belongs to another process, which must export it",
                function, ptr);
  }
  const Range pages{roundDown(start, pageBytes()),
                    roundUp(block.occupied.to, pageBytes())};
  auto shared = shared_.find(pages.from);
  if (shared == shared_.end() || shared->second.moved < pages.to) {
    *out_part = SharedPart{};
    if (!may_move) return SOFT_OK;
    if (soft_status status = movePages(function, pages)) return status;
    shared = shared_.find(pages.from);
  }
  *out_part =
      SharedPart{shared->second.file, static_cast<uint32_t>(start - pages.from),
                 block.bytes};
  return SOFT_OK;
}

// Moves the pages into a file of their own; some may lie there already.
soft_status DeviceMemory::movePages(const char* function, const Range& pages) {
  const std::size_t bytes = pages.to - pages.from;
  auto shared = shared_.find(pages.from);
  if (shared == shared_.end()) {
    std::shared_ptr<SharedFile> file;
    if (soft_status status = SharedFile::create(function, bytes, &file)) {
      return status;
    }
    const SharedPages unmoved{std::move(file), pages.from, pages.from};
    shared = shared_.emplace(pages.from, unmoved).first;
  }
  if (moveToFile(pages.to, &shared->second)) return SOFT_OK;
  // Nothing has been moved: it is as if nobody had asked.
  if (shared->second.moved == pages.from) shared_.erase(shared);
  return fail(SOFT_OUT_OF_MEMORY,
              "%s: the system refused %zu bytes of shared memory", function,
              bytes);
}

// Piece by piece, so that both copies exist of one piece only. After a failure
// some pieces lie in the file, which work cannot tell from the others; the next
// call goes on behind them.
bool DeviceMemory::moveToFile(uintptr_t to, SharedPages* shared) {
  constexpr std::size_t kPiece = 16 * kPart;
  const SharedFile& file = *shared->file;
  while (shared->moved < to) {
    const Range piece{shared->moved, std::min(shared->moved + kPiece, to)};
    const std::size_t bytes = piece.to - piece.from;
    const std::size_t offset = piece.from - shared->from;
    if (!file.write(backing(piece.from), bytes, static_cast<off_t>(offset)) ||
        !mapFile(piece, file, offset)) {
      file.clear(bytes, static_cast<off_t>(offset));
      return false;
    }
    shared->moved = piece.to;
  }
  return true;
}

bool DeviceMemory::mapFile(const Range& pages, const SharedFile& file,
                           std::size_t offset) {
  const std::size_t bytes = pages.to - pages.from;
  if (mmap(backing(pages.from), bytes, PROT_READ | PROT_WRITE,
           MAP_SHARED | MAP_FIXED, file.fd(),
           static_cast<off_t>(offset)) == MAP_FAILED) {
    return false;
  }
  adviseBacking(backing(pages.from), bytes);
  return true;
}

// Replaces whole mappings by one that is as long, so the system has no reason
// to refuse.
void DeviceMemory::mapPrivate(const Range& pages) {
  const std::size_t bytes = pages.to - pages.from;
  mmap(backing(pages.from), bytes, PROT_READ | PROT_WRITE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  adviseBacking(backing(pages.from), bytes);
}

// Advice only: a kernel without huge pages refuses the first. A forked child
// cannot use the device and need not copy its page tables.
void adviseBacking(void* start, std::size_t bytes) {
  madvise(start, bytes, MADV_HUGEPAGE);
  madvise(start, bytes, MADV_DONTFORK);
  madvise(start, bytes, MADV_DONTDUMP);
}

DeviceMemory::Blocks::iterator DeviceMemory::findOpened(
    const SharedPart& part) {
  return std::find_if(blocks_.begin(), blocks_.end(), [&](const auto& entry) {
    const auto& [start, block] = entry;
    return block.opens != 0 && block.opened_id == part.file->id() &&
           start - block.occupied.from == part.offset;
  });
}

soft_status DeviceMemory::open(const char* function, const SharedPart& part,
                               void** out_ptr) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (const auto known = findOpened(part); known != blocks_.end()) {
    ++known->second.opens;
    *out_ptr = reinterpret_cast<void*>(map_.base + known->first);
    return SOFT_OK;
  }
  const std::size_t bytes = part.file->bytes();
  Range pages;
  if (!free_.take(bytes, bytes >= kPart ? kPart : pageBytes(), &pages.from)) {
    return fail(SOFT_OUT_OF_MEMORY,
                "%s: device %d has no gap of %zu bytes in its addresses",
                function, map_.device, bytes);
  }
  pages.to = pages.from + bytes;
  if (!mapFile(pages, *part.file, 0)) {
    free_.give(pages.from, bytes);
    return fail(SOFT_OUT_OF_MEMORY,
                "%s: the system refused to map %zu bytes of another process",
                function, bytes);
  }
  const uintptr_t start = pages.from + part.offset;
  blocks_[start] = Block{part.bytes, pages, part.file->id(), 1};
  countParts(pages, 1);
  *out_ptr = reinterpret_cast<void*>(map_.base + start);
  return SOFT_OK;
}

bool DeviceMemory::close(const void* ptr) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = blocks_.find(offsetOf(ptr));
  if (found == blocks_.end() || found->second.opens == 0) return false;
  if (found->second.opens > 1) {
    --found->second.opens;
    return true;
  }
  const Block block = found->second;
  blocks_.erase(found);
  dropBlock(block);
  return true;
}

bool DeviceMemory::isOpened(const void* ptr) const {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = blocks_.find(offsetOf(ptr));
  return found != blocks_.end() && found->second.opens != 0;
}

}  // namespace dipu::softdevice
