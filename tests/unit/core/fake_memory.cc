// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "core/plugin_kit/error.h"
#include "core/plugin_kit/guard.h"
#include "core/plugin_kit/table.h"
#include "tests/unit/core/fake_state.h"

namespace dipu::testing {
namespace {

using plugin_kit::kGuarded;
using plugin_kit::makeError;

dipu_error* allocate(int32_t device, size_t bytes, void** out_ptr) {
  const auto lock = locked();
  ++state().calls.allocate;
  const dipu_status_code failure =
      std::exchange(state().allocate_failure, DIPU_OK);
  if (failure != DIPU_OK) return makeError(failure, 9, "asked to fail");
  if (usedBytes(device) + bytes > state().capacity[device]) {
    return makeError(DIPU_RESOURCE_EXHAUSTED, 2, "%zu bytes do not fit", bytes);
  }
  if (state().recycled.second == bytes) {
    *out_ptr = std::exchange(state().recycled, {}).first;
  } else {
    // Large requests are never touched by tests; the system backs them lazily.
    *out_ptr = std::aligned_alloc(512, (bytes + 511) / 512 * 512);
  }
  state().memory[static_cast<char*>(*out_ptr)] = {device, bytes};
  return nullptr;
}

void deallocate(int32_t /*device*/, void* ptr) {
  auto lock = locked();
  ++state().calls.deallocate;
  const auto entry = state().memory.find(static_cast<char*>(ptr));
  const std::size_t bytes = entry->second.second;
  state().memory.erase(entry);
  if (const auto action = std::exchange(state().on_deallocate, nullptr)) {
    state().recycled = {ptr, bytes};
    lock.unlock();
    action();
    lock.lock();
    ptr = std::exchange(state().recycled, {}).first;
  }
  std::free(ptr);
}

dipu_error* getInfo(int32_t device, size_t* out_free, size_t* out_total) {
  const auto lock = locked();
  *out_total = state().capacity[device];
  *out_free = *out_total - usedBytes(device);
  return nullptr;
}

dipu_error* hostAllocate(size_t bytes, void** out_ptr) {
  const auto lock = locked();
  ++state().calls.host_allocate;
  *out_ptr = std::malloc(bytes);
  state().pinned[static_cast<char*>(*out_ptr)] = bytes;
  return nullptr;
}

void hostDeallocate(void* ptr) {
  const auto lock = locked();
  state().pinned.erase(static_cast<char*>(ptr));
  std::free(ptr);
}

bool isPinned(const void* ptr) {
  const auto* address = static_cast<const char*>(ptr);
  auto range = state().pinned.upper_bound(address);
  if (range == state().pinned.begin()) return false;
  --range;
  return address < range->first + range->second;
}

dipu_error* copyAsync(void* dst, int32_t /*dst_device*/, const void* src,
                      int32_t src_device, size_t bytes, dipu_stream* stream) {
  const auto lock = locked();
  if (src_device != DIPU_HOST || isPinned(src)) {
    state().streams.enqueue(stream, [=] { std::memmove(dst, src, bytes); });
    return nullptr;
  }
  // A pageable source may change once this has returned.
  const auto* first = static_cast<const char*>(src);
  auto staged = std::make_shared<std::vector<char>>(first, first + bytes);
  state().streams.enqueue(stream,
                          [=] { std::memcpy(dst, staged->data(), bytes); });
  return nullptr;
}

dipu_error* copy(void* dst, int32_t /*dst_device*/, const void* src,
                 int32_t /*src_device*/, size_t bytes) {
  const auto lock = locked();
  dipu_error* error = finish();
  std::memmove(dst, src, bytes);
  return error;
}

dipu_error* setAsync(void* ptr, int32_t /*device*/, int32_t value, size_t bytes,
                     dipu_stream* stream) {
  const auto lock = locked();
  state().streams.enqueue(stream, [=] { std::memset(ptr, value, bytes); });
  return nullptr;
}

dipu_error* getPointerInfo(const void* ptr, dipu_pointer_info* info) {
  const auto lock = locked();
  info->kind = isPinned(ptr) ? DIPU_MEMORY_PINNED : DIPU_MEMORY_UNKNOWN;
  info->device = DIPU_HOST;
  return nullptr;
}

constexpr dipu_memory_api makeApi() {
  auto api = plugin_kit::makeTable<dipu_memory_api>(DIPU_MEMORY_API_VERSION);
  api.allocate = kGuarded<allocate>;
  api.deallocate = kGuarded<deallocate>;
  api.get_info = kGuarded<getInfo>;
  api.host_allocate = kGuarded<hostAllocate>;
  api.host_deallocate = kGuarded<hostDeallocate>;
  api.copy = kGuarded<copy>;
  api.copy_async = kGuarded<copyAsync>;
  api.set_async = kGuarded<setAsync>;
  api.get_pointer_info = kGuarded<getPointerInfo>;
  return api;
}

}  // namespace

const dipu_memory_api kFakeMemoryApi = makeApi();

}  // namespace dipu::testing
