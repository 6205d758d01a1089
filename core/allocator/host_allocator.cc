// SPDX-License-Identifier: Apache-2.0
#include "core/allocator/host_allocator.h"

#include <c10/util/Exception.h>
#include <c10/util/Logging.h>

#include <cstring>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "core/runtime/device.h"
#include "core/runtime/error.h"
#include "core/runtime/event.h"
#include "core/runtime/stream.h"
#include "core/vendor_call/call.h"

namespace dipu::allocator {
namespace {

// Ranges of host memory that the vendor gave us. Thread-safe.
class PinnedRanges {
 public:
  void add(void* ptr, std::size_t bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ranges_[static_cast<std::byte*>(ptr)] = bytes;
  }

  void remove(void* ptr) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ranges_.erase(static_cast<std::byte*>(ptr));
  }

  bool contains(const void* ptr) {
    const auto* address = static_cast<const std::byte*>(ptr);
    const std::lock_guard<std::mutex> lock(mutex_);
    auto range = ranges_.upper_bound(address);
    if (range == ranges_.begin()) return false;
    --range;
    return address < range->first + range->second;
  }

 private:
  std::mutex mutex_;
  std::map<const std::byte*, std::size_t> ranges_;  // guarded by mutex_
};

PinnedRanges& pinnedRanges() {
  static auto* const ranges = new PinnedRanges;
  return *ranges;
}

using vendor_call::call;
using HostBlock = at::HostBlock<c10::Stream>;

// What torch's caching host allocator needs from a device.
class Backend final
    : public at::CachingHostAllocatorImpl<c10::Stream, runtime::PooledEvent> {
 private:
  void allocate_host_memory(std::size_t bytes, void** ptr) override {
    runtime::check(call("memory.host_allocate",
                        runtime::memoryApi().host_allocate, bytes, ptr));
    TORCH_CHECK_WITH(
        OutOfMemoryError, *ptr != nullptr, runtime::deviceLabel(DIPU_HOST),
        ": no pinned memory: memory.host_allocate gave NULL for ", bytes,
        " bytes and no error. The library breaks the vendor contract; report "
        "it to the vendor");
    pinnedRanges().add(*ptr, bytes);
  }

  void free_block(HostBlock* block) override {
    pinnedRanges().remove(block->ptr_);
    runtime::succeeded(call("memory.host_deallocate",
                            runtime::memoryApi().host_deallocate, block->ptr_),
                       "giving pinned memory back");
  }

  // Called while memory is freed, where an exception would end the process.
  // Without its event the block is never reused, which is safe.
  void record_stream(std::optional<std::vector<runtime::PooledEvent>>& events,
                     c10::Stream stream) override {
    try {
      const runtime::StreamRecord& record = runtime::recordOf(stream);
      runtime::PooledEvent event = runtime::acquireEvent(record.device);
      runtime::recordEvent(*event, record);
      events->push_back(std::move(event));
    } catch (const std::exception& error) {
      LOG(ERROR) << "pinned memory is lost, because its use on " << stream
                 << " cannot be tracked: " << error.what();
    }
  }

  bool query_event(runtime::PooledEvent& event) override {
    return runtime::queryEvent(*event);
  }

  c10::Stream get_current_stream() const override {
    return runtime::currentStream();
  }

  bool stream_is_capturing(c10::Stream) const override { return false; }

 public:
  void copy_data(void* dst, const void* src, std::size_t bytes) const override {
    std::memcpy(dst, src, bytes);
  }
};

void freePinned(void* context);
using Allocator = at::CachingHostAllocatorInterface<Backend, &freePinned>;

// Never destroyed: pinned tensors may outlive static objects.
Allocator& instance() {
  static auto* const allocator = new Allocator;
  return *allocator;
}

void freePinned(void* context) {
  // See freeBlock in device_allocator.cc.
  if (runtime::isInitialized()) instance().free(context);
}

const at::HostAllocatorRegistry<runtime::kDeviceType> g_registered
    [[maybe_unused]] (&instance());

bool vendorSaysPinned(const void* ptr) noexcept {
  const dipu_memory_api& api = runtime::memoryApi();
  if (!DIPU_HAS(&api, get_pointer_info)) return false;
  dipu_pointer_info info{};
  info.struct_size = sizeof(info);
  return runtime::succeeded(
             call("memory.get_pointer_info", api.get_pointer_info, ptr, &info),
             "describing a pointer") &&
         info.kind == DIPU_MEMORY_PINNED;
}

}  // namespace

at::HostAllocator& hostAllocator() noexcept { return instance(); }

bool isPinned(const void* ptr) noexcept {
  if (ptr == nullptr || !runtime::isInitialized()) return false;
  return pinnedRanges().contains(ptr) || vendorSaysPinned(ptr);
}

}  // namespace dipu::allocator
