// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/memory.h"

#include <cstring>

#include "core/runtime/error.h"
#include "core/runtime/event.h"
#include "core/runtime/stream.h"

namespace dipu::runtime {
namespace {

// The device to name in an error: the one of the two that is not the host.
int32_t deviceOf(int32_t dst_device, int32_t src_device) {
  return dst_device == DIPU_HOST ? src_device : dst_device;
}

// Makes later work of `waiter` run after the work enqueued on `stream` so far.
void join(const StreamRecord& waiter, const StreamRecord& stream) {
  const PooledEvent event = acquireEvent(stream.device);
  recordEvent(*event, stream);
  waitEvent(waiter, *event);
}

}  // namespace

void copyAsync(void* dst, int32_t dst_device, const void* src,
               int32_t src_device, std::size_t bytes, dipu_stream* stream) {
  if (bytes == 0) return;
  check(memoryApi().copy_async(dst, dst_device, src, src_device, bytes, stream),
        deviceOf(dst_device, src_device));
}

void copyBetweenDevices(void* dst, int32_t dst_device, const void* src,
                        int32_t src_device, std::size_t bytes) {
  if (bytes == 0) return;
  const StreamRecord& from = currentStreamRecord(src_device);
  const StreamRecord& to = currentStreamRecord(dst_device);
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
  check(streamApi().synchronize(stream.handle), device);
}

void memsetAsync(void* ptr, int32_t device, int32_t value, std::size_t bytes,
                 dipu_stream* stream) {
  if (bytes == 0) return;
  check(memoryApi().set_async(ptr, device, value, bytes, stream), device);
}

}  // namespace dipu::runtime
