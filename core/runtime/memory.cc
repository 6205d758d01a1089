// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/memory.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "core/observe/observer.h"
#include "core/runtime/error.h"
#include "core/runtime/event.h"
#include "core/runtime/stream.h"
#include "core/vendor_call/call.h"

namespace dipu::runtime {
namespace {

using vendor_call::call;

// The device to name in an error: the one of the two that is not the host.
int32_t deviceOf(int32_t dst_device, int32_t src_device) {
  return dst_device == DIPU_HOST ? src_device : dst_device;
}

// Tells the observer of a copy on `stream`. Every copy is on a stream that is
// current on one of its devices.
void tellCopy(observe::Observer* observer, const observe::Range& to,
              const observe::Range& from, const dipu_stream* stream) {
  for (const int32_t device : {to.device, from.device}) {
    if (device == DIPU_HOST) continue;
    const StreamRecord& current =
        currentStreamRecord(static_cast<c10::DeviceIndex>(device));
    if (current.handle == stream) {
      observer->onCopy(to, from, {current.device, current.id});
      return;
    }
  }
}

// Makes later work of `waiter` run after the work enqueued on `stream` so far.
void join(const StreamRecord& waiter, const StreamRecord& stream) {
  const PooledEvent event = acquireEvent(stream.device);
  recordEvent(*event, stream);
  waitEvent(waiter, *event);
}

// Bytes of host memory that a copy through the host uses at a time.
constexpr std::size_t kStagingBytes = std::size_t{32} << 20;

// For devices that cannot reach each other. Blocks until the source is read.
void copyThroughHost(void* dst, const StreamRecord& to, const void* src,
                     const StreamRecord& from, std::size_t bytes) {
  const std::size_t chunk = std::min(bytes, kStagingBytes);
  const auto staging = std::make_unique_for_overwrite<std::byte[]>(chunk);
  for (std::size_t done = 0; done < bytes; done += chunk) {
    const std::size_t size = std::min(chunk, bytes - done);
    copyAsync(staging.get(), DIPU_HOST, static_cast<const char*>(src) + done,
              from.device, size, from.handle);
    synchronizeStream(from.stream());
    // The staging memory is pageable: free to change once this has returned.
    copyAsync(static_cast<char*>(dst) + done, to.device, staging.get(),
              DIPU_HOST, size, to.handle);
  }
}

}  // namespace

void copyAsync(void* dst, int32_t dst_device, const void* src,
               int32_t src_device, std::size_t bytes, dipu_stream* stream) {
  if (bytes == 0) return;
  if (auto* observer = observe::observer()) {
    tellCopy(observer, {dst, bytes, dst_device}, {src, bytes, src_device},
             stream);
  }
  check(call("memory.copy_async", memoryApi().copy_async, dst, dst_device, src,
             src_device, bytes, stream),
        deviceOf(dst_device, src_device));
}

void copyBetweenDevices(void* dst, int32_t dst_device, const void* src,
                        int32_t src_device, std::size_t bytes) {
  if (bytes == 0) return;
  const StreamRecord& from = currentStreamRecord(src_device);
  const StreamRecord& to = currentStreamRecord(dst_device);
  if (!enablePeerAccess(from.device, to.device)) {
    copyThroughHost(dst, to, src, from, bytes);
    return;
  }
  join(from, to);
  copyAsync(dst, dst_device, src, src_device, bytes, from.handle);
  join(to, from);
}

void copy(void* dst, int32_t dst_device, const void* src, int32_t src_device,
          std::size_t bytes) {
  if (bytes == 0) return;
  const int32_t device = deviceOf(dst_device, src_device);
  if (device == DIPU_HOST) {
    std::memcpy(dst, src, bytes);
    return;
  }
  const StreamRecord& stream =
      currentStreamRecord(static_cast<c10::DeviceIndex>(device));
  if (dst_device >= 0 && src_device >= 0 && dst_device != src_device) {
    copyBetweenDevices(dst, dst_device, src, src_device, bytes);
  } else {
    copyAsync(dst, dst_device, src, src_device, bytes, stream.handle);
  }
  synchronizeStream(stream.stream());
}

void* hostPointer(const void* ptr, int32_t device) {
  const dipu_memory_api& api = memoryApi();
  if (!DIPU_HAS(&api, get_pointer_info)) return nullptr;
  dipu_pointer_info info{};
  info.struct_size = sizeof(info);
  check(call("memory.get_pointer_info", api.get_pointer_info, ptr, &info),
        device);
  return info.host_pointer;
}

void tellHostReads(const void* ptr, std::size_t bytes, int32_t device) {
  if (auto* observer = observe::observer()) {
    tellCopy(observer, {nullptr, bytes, DIPU_HOST}, {ptr, bytes, device},
             currentStreamHandle(static_cast<c10::DeviceIndex>(device)));
  }
}

void tellHostWrites(void* ptr, std::size_t bytes, int32_t device) {
  if (auto* observer = observe::observer()) {
    tellCopy(observer, {ptr, bytes, device}, {nullptr, bytes, DIPU_HOST},
             currentStreamHandle(static_cast<c10::DeviceIndex>(device)));
  }
}

void memsetAsync(void* ptr, int32_t device, int32_t value, std::size_t bytes,
                 dipu_stream* stream) {
  if (bytes == 0) return;
  check(call("memory.set_async", memoryApi().set_async, ptr, device, value,
             bytes, stream),
        device);
}

}  // namespace dipu::runtime
