// SPDX-License-Identifier: Apache-2.0
#include "core/allocator/device_allocator.h"

#include <c10/util/Exception.h>

#include <vector>

#include "core/allocator/device_heap.h"
#include "core/observe/observer.h"
#include "core/runtime/device.h"
#include "core/runtime/error.h"
#include "core/runtime/memory.h"
#include "core/runtime/stream.h"
#include "core/vendor_call/call.h"

namespace dipu::allocator {
namespace {

using runtime::StreamRecord;

c10::Device deviceAt(c10::DeviceIndex index) {
  return {runtime::kDeviceType, index};
}

// A call into c10 per allocation would cost more than the allocation; this
// one finds out that nobody profiles.
void report(DeviceHeap& heap, const Block& block, int64_t bytes) {
  const auto [allocated, reserved] = heap.usage();
  c10::reportMemoryUsageToProfiler(block.ptr, bytes, allocated, reserved,
                                   deviceAt(heap.device()));
}

observe::Range rangeOf(const Block& block) {
  return {block.ptr, block.size, block.pool->heap().device()};
}

observe::Stream nameOf(const StreamRecord& stream) {
  return {stream.device, stream.id};
}

void tellFree(observe::Observer& observer, const Block& block) {
  std::vector<observe::Stream> users;
  for (const StreamRecord* user : block.users) users.push_back(nameOf(*user));
  observer.onFree(rangeOf(block), nameOf(block.pool->stream()), users);
}

// The deleter of every DataPtr of ours; the context is the block.
void freeBlock(void* context) {
  // In a forked child the locks may be held by threads that do not exist, and
  // an ending process has no use for the memory.
  if (!runtime::isInitialized()) return;
  auto* block = static_cast<Block*>(context);
  DeviceHeap& heap = block->pool->heap();
  if (__builtin_expect(c10::memoryProfilingEnabled(), 0)) {
    report(heap, *block, -static_cast<int64_t>(block->size));
  }
  if (auto* observer = observe::observer()) tellFree(*observer, *block);
  heap.free(block);
}

Block* allocateBlock(std::size_t bytes, c10::DeviceIndex device) {
  StreamRecord& stream = runtime::currentStreamRecord(device);
  void* known = stream.allocator_pool.load(std::memory_order_acquire);
  BlockPool& pool = __builtin_expect(known != nullptr, 1)
                        ? *static_cast<BlockPool*>(known)
                        : heapOf(device).poolOf(stream);
  DeviceHeap& heap = pool.heap();
  Block* block = heap.allocate(pool, bytes);
  if (__builtin_expect(c10::memoryProfilingEnabled(), 0)) {
    report(heap, *block, static_cast<int64_t>(block->size));
  }
  if (auto* observer = observe::observer()) {
    observer->onAllocate(rangeOf(*block), nameOf(stream));
  }
  return block;
}

// The block that holds `ptr`, which the caller keeps allocated; else null.
Block* findBlock(const void* ptr) {
  for (c10::DeviceIndex i = 0; i < runtime::kMaxDevices; ++i) {
    DeviceHeap* heap = findHeap(i);
    if (heap == nullptr) continue;
    if (Block* block = heap->find(ptr).block) return block;
  }
  return nullptr;
}

class CachingAllocator final : public c10::DeviceAllocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    return allocator::allocate(bytes, runtime::currentDevice());
  }

  // The context is a block, not the memory, so the interface that passes bare
  // pointers cannot be offered here; see rawAllocate.
  c10::DeleterFnPtr raw_deleter() const override { return nullptr; }

  bool is_simple_data_ptr(const c10::DataPtr& data) const override {
    return data.get_context() == nullptr || data.get_deleter() == &freeBlock;
  }

  void copy_data(void* dst, const void* src, std::size_t bytes) const override;

  bool initialized() override { return runtime::isInitialized(); }

  void emptyCache(c10::MempoolId_t) override;

  void recordStream(const c10::DataPtr& data, c10::Stream stream) override {
    if (data.get_context() != nullptr && data.get_deleter() == &freeBlock) {
      auto* block = static_cast<Block*>(data.get_context());
      block->pool->heap().recordStream(block, runtime::recordOf(stream));
    } else {
      // Wrapped, such as by copy on write, or not ours.
      allocator::recordStream(data.get(), stream);
    }
  }

  DeviceStats getDeviceStats(c10::DeviceIndex device) override {
    return heapOf(device).stats();
  }

  void resetAccumulatedStats(c10::DeviceIndex device) override {
    heapOf(device).resetAccumulatedStats();
  }

  void resetPeakStats(c10::DeviceIndex device) override {
    heapOf(device).resetPeakStats();
  }

  std::pair<std::size_t, std::size_t> getMemoryInfo(
      c10::DeviceIndex device) override {
    runtime::checkDeviceIndex(device);
    std::pair<std::size_t, std::size_t> info{};
    runtime::check(
        vendor_call::call("memory.get_info", runtime::memoryApi().get_info,
                          device, &info.first, &info.second),
        device);
    return info;
  }
};

void CachingAllocator::copy_data(void* dst, const void* src,
                                 std::size_t bytes) const {
  const auto to = findAllocation(dst);
  const auto from = findAllocation(src);
  TORCH_CHECK(to && from, "cannot copy ", bytes, " bytes from ", src, " to ",
              dst, ": an address is not in memory of dipu");
  if (to->device != from->device) {
    runtime::copyBetweenDevices(dst, to->device, src, from->device, bytes);
  } else {
    runtime::copyAsync(dst, to->device, src, from->device, bytes,
                       runtime::currentStreamHandle(to->device));
  }
}

void CachingAllocator::emptyCache(c10::MempoolId_t) {
  for (c10::DeviceIndex i = 0; i < runtime::kMaxDevices; ++i) {
    if (DeviceHeap* heap = findHeap(i)) heap->emptyCache();
  }
}

const c10::AllocatorRegisterer<runtime::kDeviceType> g_registered
    [[maybe_unused]] (&deviceAllocator());

}  // namespace

c10::DeviceAllocator& deviceAllocator() noexcept {
  static auto* const instance = new CachingAllocator;
  return *instance;
}

c10::DataPtr allocate(std::size_t bytes, c10::DeviceIndex device) {
  if (bytes == 0) return {nullptr, deviceAt(device)};
  Block* block = allocateBlock(bytes, device);
  return {block->ptr, block, &freeBlock, deviceAt(device)};
}

std::optional<Allocation> findAllocation(const void* ptr) noexcept {
  if (!runtime::isInitialized()) return std::nullopt;
  for (c10::DeviceIndex i = 0; i < runtime::kMaxDevices; ++i) {
    DeviceHeap* heap = findHeap(i);
    if (heap == nullptr) continue;
    const DeviceHeap::Found found = heap->find(ptr);
    if (found.block != nullptr) return Allocation{i, found.ptr, found.size};
  }
  return std::nullopt;
}

void* rawAllocate(std::size_t bytes, c10::DeviceIndex device) {
  return bytes == 0 ? nullptr : allocateBlock(bytes, device)->ptr;
}

void rawDeallocate(void* ptr) noexcept {
  if (ptr == nullptr || !runtime::isInitialized()) return;
  if (Block* block = findBlock(ptr)) freeBlock(block);
}

void recordStream(const void* ptr, const c10::Stream& stream) {
  if (ptr == nullptr) return;
  if (Block* block = findBlock(ptr)) {
    block->pool->heap().recordStream(block, runtime::recordOf(stream));
  }
}

}  // namespace dipu::allocator
