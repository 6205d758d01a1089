// SPDX-License-Identifier: Apache-2.0
//
// Copies and fills.
#include <cstring>
#include <new>

#include "softdevice/device.h"
#include "softdevice/enqueue.h"
#include "softdevice/order.h"
#include "softdevice/pinned.h"
#include "softdevice/softdevice.h"
#include "softdevice/status.h"
#include "softdevice/stream.h"

using dipu::softdevice::checkMayBlock;
using dipu::softdevice::config;
using dipu::softdevice::Device;
using dipu::softdevice::deviceOfAddress;
using dipu::softdevice::enqueue;
using dipu::softdevice::enterStream;
using dipu::softdevice::fail;
using dipu::softdevice::pinnedRegistry;
using dipu::softdevice::Task;
using dipu::softdevice::TaskKind;

namespace {

// Pageable sources up to this size are copied aside, larger ones waited for.
constexpr std::size_t kStagedBytes = std::size_t{64} << 10;

// One side of a copy.
struct Side {
  Device* device = nullptr;  // nullptr: host
  void* memory = nullptr;    // where it can be read and written
  bool pageable = false;
};

struct Copy {
  void* dst;
  const void* src;
  std::size_t bytes;
};

struct StagedCopy {
  void* dst;
  std::size_t bytes;  // they follow the structure
};

struct Fill {
  void* dst;
  std::size_t bytes;
  int32_t value;
};

void copyTask(void* payload) {
  const auto* copy = static_cast<const Copy*>(payload);
  std::memmove(copy->dst, copy->src, copy->bytes);
}

void stagedCopyTask(void* payload) {
  const auto* copy = static_cast<const StagedCopy*>(payload);
  std::memcpy(copy->dst, copy + 1, copy->bytes);
}

void fillTask(void* payload) {
  const auto* fill = static_cast<const Fill*>(payload);
  std::memset(fill->dst, fill->value, fill->bytes);
}

soft_status resolve(const char* function, const void* ptr, std::size_t bytes,
                    Side* out_side) {
  if (ptr == nullptr) {
    return fail(SOFT_INVALID_VALUE, "%s: a pointer is NULL", function);
  }
  Device* device = deviceOfAddress(ptr);
  if (device == nullptr) {
    *out_side = Side{nullptr, const_cast<void*>(ptr),
                     !pinnedRegistry().holds(ptr, bytes)};
    return SOFT_OK;
  }
  if (!device->memory().holds(ptr, bytes)) {
    return fail(SOFT_INVALID_VALUE,
                "%s: %zu bytes at %p exceed the allocations of device %d",
                function, bytes, ptr, device->index());
  }
  *out_side = Side{device, device->memory().translate(ptr, bytes), false};
  return SOFT_OK;
}

// The caller waits for this copy in any case, so it does the copy itself once
// the stream has come this far.
soft_status copyNow(soft_stream* stream, const Copy& copy) {
  if (soft_status status = checkMayBlock("soft_memcpy_async")) return status;
  stream->waitFor(stream->tail(), config().spin_us);
  std::memmove(copy.dst, copy.src, copy.bytes);
  return stream->device().error();
}

soft_status copyStaged(soft_stream* stream, const Copy& copy) {
  const Task task{TaskKind::kCopy, "copy", stagedCopyTask,
                  sizeof(StagedCopy) + copy.bytes};
  return enqueue(stream, task, [&](void* payload) {
    auto* staged = new (payload) StagedCopy{copy.dst, copy.bytes};
    std::memcpy(staged + 1, copy.src, copy.bytes);
  });
}

// Waits for the default stream of the side's device.
soft_status waitForDefaultStream(const Side& side) {
  if (side.device == nullptr) return SOFT_OK;
  soft_stream* stream = side.device->defaultStream();
  if (soft_status status = enterStream("soft_memcpy", stream)) return status;
  stream->waitFor(stream->tail(), config().spin_us);
  return side.device->error();
}

}  // namespace

soft_status soft_memcpy_async(void* dst, const void* src, size_t bytes,
                              soft_stream* stream) {
  if (soft_status status = enterStream("soft_memcpy_async", stream)) {
    return status;
  }
  if (bytes == 0) return SOFT_OK;
  Side to;
  Side from;
  if (soft_status status = resolve("soft_memcpy_async", dst, bytes, &to)) {
    return status;
  }
  if (soft_status status = resolve("soft_memcpy_async", src, bytes, &from)) {
    return status;
  }
  const Copy copy{to.memory, from.memory, bytes};
  if (to.pageable) return copyNow(stream, copy);
  if (from.pageable) {
    return bytes <= kStagedBytes ? copyStaged(stream, copy)
                                 : copyNow(stream, copy);
  }
  return enqueue(stream, {TaskKind::kCopy, "copy", copyTask, sizeof(Copy)},
                 [&](void* payload) { new (payload) Copy(copy); });
}

soft_status soft_memcpy(void* dst, const void* src, size_t bytes) {
  if (soft_status status = checkMayBlock("soft_memcpy")) return status;
  if (bytes == 0) return SOFT_OK;
  Side to;
  Side from;
  if (soft_status status = resolve("soft_memcpy", dst, bytes, &to)) {
    return status;
  }
  if (soft_status status = resolve("soft_memcpy", src, bytes, &from)) {
    return status;
  }
  for (const Side& side : {to, from}) {
    if (soft_status status = waitForDefaultStream(side)) return status;
  }
  std::memmove(to.memory, from.memory, bytes);
  return SOFT_OK;
}

soft_status soft_memset_async(void* dst, int32_t value, size_t bytes,
                              soft_stream* stream) {
  if (soft_status status = enterStream("soft_memset_async", stream)) {
    return status;
  }
  if (bytes == 0) return SOFT_OK;
  Side to;
  if (soft_status status = resolve("soft_memset_async", dst, bytes, &to)) {
    return status;
  }
  if (to.pageable) {
    return fail(SOFT_INVALID_VALUE,
                "soft_memset_async: %p is neither device nor pinned memory",
                dst);
  }
  return enqueue(
      stream, {TaskKind::kFill, "fill", fillTask, sizeof(Fill)},
      [&](void* payload) { new (payload) Fill{to.memory, bytes, value}; });
}
