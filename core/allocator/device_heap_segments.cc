// SPDX-License-Identifier: Apache-2.0
//
// The slow half of the heap: segments, out of memory, statistics.
#include <c10/core/Allocator.h>
#include <c10/util/Exception.h>
#include <c10/util/StringUtil.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <set>
#include <string>
#include <utility>

#include "core/allocator/device_heap.h"
#include "core/allocator/stat_arrays.h"
#include "core/loader/text.h"
#include "core/runtime/device.h"
#include "core/runtime/error.h"
#include "core/vendor_call/call.h"

namespace dipu::allocator {
namespace {

using c10::CachingAllocator::format_size;
using vendor_call::call;
using Lock = std::lock_guard<SpinLock>;

// What the contract promises of memory.allocate.
constexpr std::uintptr_t kAlignment = 256;

std::size_t current(const StatArray& stat) {
  return static_cast<std::size_t>(stat[0].current);
}

void returnMemory(c10::DeviceIndex device, void* ptr) noexcept {
  runtime::succeeded(
      call("memory.deallocate", runtime::memoryApi().deallocate, device, ptr),
      "giving device memory back");
}

// Throws, without keeping the memory, when it breaks the contract.
void checkAlignment(c10::DeviceIndex device, void* ptr, std::size_t bytes) {
  if (reinterpret_cast<std::uintptr_t>(ptr) % kAlignment == 0) return;
  returnMemory(device, ptr);
  TORCH_CHECK(false, runtime::deviceLabel(device), ": memory.allocate gave ",
              ptr, " for ", bytes, " bytes, which is not aligned to ",
              kAlignment, " bytes. The library breaks the vendor contract; ",
              "report it to the vendor");
}

// Null until a device is first used. Never destroyed.
std::array<std::atomic<DeviceHeap*>, runtime::kMaxDevices> g_heaps{};

}  // namespace

Block* DeviceHeap::reserve(BlockPool& pool, std::size_t bytes,
                           std::size_t size) {
  const std::size_t segment = segmentSize(size);
  std::string why;
  std::byte* ptr = tryVendorAllocate(segment, &why);
  if (ptr == nullptr) {
    finishPending();
    if (Block* block = tryCached(pool, bytes, size)) return block;
    emptyCache();
    ptr = tryVendorAllocate(segment, &why);
    if (ptr == nullptr) throwOutOfMemory(bytes, why);
  }
  const Lock lock(lock_);
  Block* block = addSegment(pool, ptr, segment, size);
  markInUse(block, bytes);
  return block;
}

std::byte* DeviceHeap::tryVendorAllocate(std::size_t bytes,
                                         std::string* out_why) {
  void* ptr = nullptr;
  dipu_error* error = call("memory.allocate", runtime::memoryApi().allocate,
                           device_, bytes, &ptr);
  if (error == nullptr) {
    checkAlignment(device_, ptr, bytes);
    if (ptr == nullptr) {
      *out_why =
          "memory.allocate gave NULL and no error, which breaks the "
          "vendor contract; report it to the vendor";
    }
    return static_cast<std::byte*>(ptr);
  }
  if (error->code != DIPU_RESOURCE_EXHAUSTED) {
    runtime::throwError(error, device_);
  }
  *out_why = loader::takeError(error).text;
  return nullptr;
}

Block* DeviceHeap::addSegment(BlockPool& pool, std::byte* ptr,
                              std::size_t bytes, std::size_t size) {
  const bool small = isSmall(size);
  auto* block =
      new Block{.ptr = ptr, .size = bytes, .pool = &pool, .small = small};
  segments_.emplace(ptr, block);
  ++stats_.num_device_alloc;
  increase(stats_.segment, small, 1);
  increase(stats_.reserved_bytes, small, bytes);
  if (isOversize(bytes)) stats_.oversize_segments.increase(1);
  pool.split(block, size);
  return block;
}

void DeviceHeap::finishPending() {
  std::set<c10::DeviceIndex> devices;
  {
    const Lock lock(lock_);
    ++stats_.num_alloc_retries;
    for (const auto& [stream, frees] : pending_) {
      if (!frees.empty()) devices.insert(stream->device);
    }
    if (devices.empty()) return;
    ++stats_.num_sync_all_streams;
  }
  for (const c10::DeviceIndex device : devices) {
    runtime::synchronizeDevice(device);
  }
}

void DeviceHeap::mergeRecent() {
  for (const auto& pool : pools_) pool->mergeRecent();
}

void DeviceHeap::emptyCache() {
  std::vector<Block*> segments;
  {
    const Lock lock(lock_);
    pollPending();
    mergeRecent();
    for (const auto& pool : pools_) pool->takeWholeSegments(segments);
  }
  if (!segments.empty()) releaseSegments(segments);
}

void DeviceHeap::releaseSegments(const std::vector<Block*>& segments) {
  try {
    runtime::synchronizeDevice(device_);
  } catch (...) {
    const Lock lock(lock_);
    for (Block* block : segments) block->pool->put(block);
    throw;
  }
  for (Block* block : segments) {
    std::byte* const ptr = block->ptr;
    {
      // First: from deallocate on, another thread may get this address anew.
      const Lock lock(lock_);
      removeSegment(block);
    }
    returnMemory(device_, ptr);
  }
}

void DeviceHeap::removeSegment(Block* block) {
  segments_.erase(block->ptr);
  ++stats_.num_device_free;
  decrease(stats_.segment, block->small, 1);
  decrease(stats_.reserved_bytes, block->small, block->size);
  if (isOversize(block->size)) stats_.oversize_segments.decrease(1);
  delete block;
}

void DeviceHeap::throwOutOfMemory(std::size_t bytes, const std::string& why) {
  std::size_t free = 0;
  std::size_t capacity = 0;
  runtime::check(call("memory.get_info", runtime::memoryApi().get_info, device_,
                      &free, &capacity),
                 device_);
  std::size_t allocated = 0;
  std::size_t reserved = 0;
  {
    const Lock lock(lock_);
    ++stats_.num_ooms;
    allocated = current(stats_.allocated_bytes);
    reserved = current(stats_.reserved_bytes);
  }
  c10::reportOutOfMemoryToProfiler(static_cast<int64_t>(bytes), allocated,
                                   reserved,
                                   c10::Device(runtime::kDeviceType, device_));
  TORCH_CHECK_WITH(
      OutOfMemoryError, false, "dipu (", runtime::deviceLabel(device_),
      ") out of memory: tried to allocate ", format_size(bytes), "; capacity ",
      format_size(capacity), ", free ", format_size(free), ", allocated ",
      format_size(allocated), ", reserved ", format_size(reserved),
      why.empty() ? "" : " (" + why + ")",
      ". Free tensors or use a smaller batch; when much more is reserved than "
      "allocated, memory is fragmented: try "
      "PYTORCH_ALLOC_CONF=max_split_size_mb:<n>, see torch.accelerator."
      "memory_stats()");
}

DeviceHeap::Found DeviceHeap::find(const void* ptr) {
  const auto* address = static_cast<const std::byte*>(ptr);
  const Lock lock(lock_);
  const auto segment = segments_.upper_bound(address);
  if (segment == segments_.begin()) return {};
  Block* block = std::prev(segment)->second;
  while (block != nullptr && address >= block->ptr + block->size) {
    block = block->next;
  }
  if (block == nullptr || block->state != BlockState::kInUse) return {};
  return {block, block->ptr, block->size};
}

DeviceStats DeviceHeap::stats() {
  const Lock lock(lock_);
  try {
    pollPending();
  } catch (const c10::Error&) {
    // A lost device; the call that uses it next reports it.
  }
  mergeRecent();
  DeviceStats stats = stats_;
  stats.max_split_size = static_cast<int64_t>(maxSplitSize());
  return stats;
}

void DeviceHeap::resetAccumulatedStats() {
  const Lock lock(lock_);
  forEachStat(stats_, [](auto& stat) { stat.reset_accumulated(); });
  stats_.num_alloc_retries = 0;
  stats_.num_ooms = 0;
  stats_.num_sync_all_streams = 0;
  stats_.num_device_alloc = 0;
  stats_.num_device_free = 0;
}

void DeviceHeap::resetPeakStats() {
  const Lock lock(lock_);
  forEachStat(stats_, [](auto& stat) { stat.reset_peak(); });
}

std::pair<std::size_t, std::size_t> DeviceHeap::usage() {
  const Lock lock(lock_);
  return {current(stats_.allocated_bytes), current(stats_.reserved_bytes)};
}

DeviceHeap& heapOf(c10::DeviceIndex device) {
  DeviceHeap* heap = findHeap(device);
  if (heap != nullptr) return *heap;
  runtime::checkDeviceIndex(device);
  auto* created = new DeviceHeap(device);
  if (!g_heaps[device].compare_exchange_strong(heap, created)) {
    delete created;
    return *heap;
  }
  return *created;
}

DeviceHeap* findHeap(c10::DeviceIndex device) noexcept {
  if (device < 0 || device >= runtime::kMaxDevices) return nullptr;
  return g_heaps[device].load(std::memory_order_acquire);
}

}  // namespace dipu::allocator
