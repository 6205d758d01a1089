// SPDX-License-Identifier: Apache-2.0
//
// Copies and fills. All of them are rectangles; a plain range is one row.
#include <cstring>
#include <new>

#include "softdevice/base/status.h"
#include "softdevice/debug/trace.h"
#include "softdevice/device/device.h"
#include "softdevice/graph/capture.h"
#include "softdevice/memory/pinned.h"
#include "softdevice/soft_copy_2d.h"
#include "softdevice/softdevice.h"
#include "softdevice/stream/enqueue.h"
#include "softdevice/stream/order.h"
#include "softdevice/stream/pause.h"
#include "softdevice/stream/stream.h"

using dipu::softdevice::checkBlockingUnsafe;
using dipu::softdevice::checkMayBlock;
using dipu::softdevice::checkNotCaptured;
using dipu::softdevice::config;
using dipu::softdevice::Device;
using dipu::softdevice::deviceOfAddress;
using dipu::softdevice::enqueue;
using dipu::softdevice::enterStream;
using dipu::softdevice::fail;
using dipu::softdevice::HostAccess;
using dipu::softdevice::pinnedRegistry;
using dipu::softdevice::Task;
using dipu::softdevice::TaskKind;
using dipu::softdevice::TraceCall;
using dipu::softdevice::traced;

namespace {

// Pageable sources up to this size are copied aside, larger ones waited for.
constexpr std::size_t kStagedBytes = std::size_t{64} << 10;

// What the caller asks for: `rows` rows of `row_bytes`.
struct Shape {
  std::size_t row_bytes;
  std::size_t rows;

  bool empty() const { return row_bytes == 0 || rows == 0; }
  std::size_t bytes() const { return row_bytes * rows; }
};

// One side of a copy as the caller gives it.
struct Operand {
  const void* ptr;
  std::size_t pitch;
};

// One side of a copy, found.
struct Side {
  Device* device = nullptr;  // nullptr: host
  char* memory = nullptr;    // where it can be read and written
  bool pageable = false;
};

struct Copy {
  char* dst;
  const char* src;
  std::size_t dst_pitch;
  std::size_t src_pitch;
  Shape shape;

  void run() const {
    for (std::size_t row = 0; row < shape.rows; ++row) {
      std::memmove(dst + row * dst_pitch, src + row * src_pitch,
                   shape.row_bytes);
    }
  }
};

struct Fill {
  char* dst;
  std::size_t pitch;
  Shape shape;
  int32_t value;

  void run() const {
    for (std::size_t row = 0; row < shape.rows; ++row) {
      std::memset(dst + row * pitch, value, shape.row_bytes);
    }
  }
};

void copyTask(void* payload) { static_cast<const Copy*>(payload)->run(); }

// The source follows the structure.
void stagedCopyTask(void* payload) {
  const auto* staged = static_cast<const Copy*>(payload);
  Copy copy = *staged;
  copy.src = reinterpret_cast<const char*>(staged + 1);
  copy.run();
}

void fillTask(void* payload) { static_cast<const Fill*>(payload)->run(); }

// Rows without gaps are one row, for which a copy is one memmove.
bool isContiguous(const Shape& shape, std::size_t pitch) {
  return shape.rows == 1 || pitch == shape.row_bytes;
}

Shape joinRows(const Shape& shape) { return {shape.bytes(), 1}; }

// Bytes from the start of the first to the end of the last row.
soft_status extentOf(const char* function, const Operand& operand,
                     const Shape& shape, std::size_t* out_bytes) {
  if (operand.pitch < shape.row_bytes) {
    return fail(SOFT_INVALID_VALUE,
                "%s: a pitch of %zu bytes is less than the %zu bytes of a row",
                function, operand.pitch, shape.row_bytes);
  }
  std::size_t bytes = 0;
  std::size_t end = 0;
  if (__builtin_mul_overflow(shape.rows - 1, operand.pitch, &bytes) ||
      __builtin_add_overflow(bytes, shape.row_bytes, &bytes) ||
      __builtin_add_overflow(bytes, reinterpret_cast<uintptr_t>(operand.ptr),
                             &end)) {
    return fail(SOFT_INVALID_VALUE,
                "%s: %zu rows of %zu bytes with a pitch of %zu bytes at %p go "
                "past the end of the addresses",
                function, shape.rows, shape.row_bytes, operand.pitch,
                operand.ptr);
  }
  *out_bytes = bytes;
  return SOFT_OK;
}

soft_status resolve(const char* function, const Operand& operand,
                    const Shape& shape, Side* out_side) {
  if (operand.ptr == nullptr) {
    return fail(SOFT_INVALID_VALUE, "%s: a pointer is NULL", function);
  }
  std::size_t bytes = 0;
  if (soft_status status = extentOf(function, operand, shape, &bytes)) {
    return status;
  }
  Device* device = deviceOfAddress(operand.ptr);
  if (device == nullptr) {
    auto* memory = const_cast<char*>(static_cast<const char*>(operand.ptr));
    *out_side =
        Side{nullptr, memory, !pinnedRegistry().holds(operand.ptr, bytes)};
    return SOFT_OK;
  }
  void* memory = device->memory().backingOf(operand.ptr, bytes);
  if (memory == nullptr) {
    return fail(SOFT_INVALID_VALUE,
                "%s: %zu bytes at %p exceed the allocations of device %d",
                function, bytes, operand.ptr, device->index());
  }
  *out_side = Side{device, static_cast<char*>(memory), false};
  return SOFT_OK;
}

// Finds both sides of a copy that is not empty.
soft_status prepare(const char* function, const Operand& dst,
                    const Operand& src, const Shape& shape, Side* out_to,
                    Side* out_from, Copy* out_copy) {
  if (soft_status status = resolve(function, dst, shape, out_to)) return status;
  if (soft_status status = resolve(function, src, shape, out_from)) {
    return status;
  }
  *out_copy =
      Copy{out_to->memory, out_from->memory, dst.pitch, src.pitch, shape};
  if (isContiguous(shape, dst.pitch) && isContiguous(shape, src.pitch)) {
    out_copy->shape = joinRows(shape);
  }
  return SOFT_OK;
}

// The caller waits for this copy in any case, so it does the copy itself once
// the stream has come this far.
soft_status copyNow(const char* function, soft_stream* stream,
                    const Copy& copy) {
  if (soft_status status = checkMayBlock(function)) return status;
  const TraceCall call{SOFT_TRACE_COPY, stream->device().index(), stream->id(),
                       copy.shape.bytes()};
  return traced(call, [&] {
    stream->waitFor(stream->tail(), config().spin_us);
    const HostAccess access;
    copy.run();
    return stream->device().error();
  });
}

soft_status copyStaged(soft_stream* stream, const Copy& copy) {
  const Task task{TaskKind::kCopy, "copy", stagedCopyTask,
                  sizeof(Copy) + copy.shape.bytes(), copy.shape.bytes()};
  return enqueue(stream, task, [&](void* payload) {
    auto* staged = new (payload) Copy(copy);
    staged->src_pitch = copy.shape.row_bytes;
    auto* rows = reinterpret_cast<char*>(staged + 1);
    Copy{rows, copy.src, staged->src_pitch, copy.src_pitch, copy.shape}.run();
  });
}

soft_status copyAsync(const char* function, const Operand& dst,
                      const Operand& src, const Shape& shape,
                      soft_stream* stream) {
  if (soft_status status = enterStream(function, stream)) return status;
  if (shape.empty()) return SOFT_OK;
  Side to;
  Side from;
  Copy copy;
  if (soft_status status =
          prepare(function, dst, src, shape, &to, &from, &copy)) {
    return status;
  }
  if (to.pageable || from.pageable) {
    if (soft_status status = checkNotCaptured(
            function, stream, "pageable host memory cannot be copied")) {
      return status;
    }
  }
  if (to.pageable) return copyNow(function, stream, copy);
  if (from.pageable) {
    return copy.shape.bytes() <= kStagedBytes ? copyStaged(stream, copy)
                                              : copyNow(function, stream, copy);
  }
  const Task task{TaskKind::kCopy, "copy", copyTask, sizeof(Copy),
                  copy.shape.bytes()};
  return enqueue(stream, task,
                 [&](void* payload) { new (payload) Copy(copy); });
}

// Waits for the default stream of the side's device.
soft_status waitForDefaultStream(const char* function, const Side& side) {
  if (side.device == nullptr) return SOFT_OK;
  soft_stream* stream = side.device->defaultStream();
  if (soft_status status = enterStream(function, stream)) return status;
  stream->waitFor(stream->tail(), config().spin_us);
  return side.device->error();
}

soft_status copyAndWait(const char* function, const Operand& dst,
                        const Operand& src, const Shape& shape) {
  if (soft_status status = checkBlockingUnsafe(function)) return status;
  if (shape.empty()) return SOFT_OK;
  Side to;
  Side from;
  Copy copy;
  if (soft_status status =
          prepare(function, dst, src, shape, &to, &from, &copy)) {
    return status;
  }
  const Device* device = to.device != nullptr ? to.device : from.device;
  const TraceCall call{SOFT_TRACE_COPY,
                       device == nullptr ? -1 : device->index(),
                       SOFT_TRACE_NO_STREAM, shape.bytes()};
  return traced(call, [&] {
    for (const Side& side : {to, from}) {
      if (soft_status status = waitForDefaultStream(function, side)) {
        return status;
      }
    }
    const HostAccess access;
    copy.run();
    return soft_status{SOFT_OK};
  });
}

soft_status fillAsync(const char* function, const Operand& dst, int32_t value,
                      const Shape& shape, soft_stream* stream) {
  if (soft_status status = enterStream(function, stream)) return status;
  if (shape.empty()) return SOFT_OK;
  Side to;
  if (soft_status status = resolve(function, dst, shape, &to)) return status;
  if (to.pageable) {
    return fail(SOFT_INVALID_VALUE,
                "%s: %p is neither device nor pinned memory", function,
                dst.ptr);
  }
  const Shape joined = isContiguous(shape, dst.pitch) ? joinRows(shape) : shape;
  const Fill fill{to.memory, dst.pitch, joined, value};
  const Task task{TaskKind::kFill, "fill", fillTask, sizeof(Fill),
                  shape.bytes()};
  return enqueue(stream, task,
                 [&](void* payload) { new (payload) Fill(fill); });
}

}  // namespace

soft_status soft_memcpy_async(void* dst, const void* src, size_t bytes,
                              soft_stream* stream) {
  return copyAsync("soft_memcpy_async", {dst, bytes}, {src, bytes}, {bytes, 1},
                   stream);
}

soft_status soft_memcpy(void* dst, const void* src, size_t bytes) {
  return copyAndWait("soft_memcpy", {dst, bytes}, {src, bytes}, {bytes, 1});
}

soft_status soft_memset_async(void* dst, int32_t value, size_t bytes,
                              soft_stream* stream) {
  return fillAsync("soft_memset_async", {dst, bytes}, value, {bytes, 1},
                   stream);
}

soft_status soft_memcpy_2d_async(void* dst, size_t dst_pitch, const void* src,
                                 size_t src_pitch, size_t row_bytes,
                                 size_t rows, soft_stream* stream) {
  return copyAsync("soft_memcpy_2d_async", {dst, dst_pitch}, {src, src_pitch},
                   {row_bytes, rows}, stream);
}

soft_status soft_memcpy_2d(void* dst, size_t dst_pitch, const void* src,
                           size_t src_pitch, size_t row_bytes, size_t rows) {
  return copyAndWait("soft_memcpy_2d", {dst, dst_pitch}, {src, src_pitch},
                     {row_bytes, rows});
}

soft_status soft_memset_2d_async(void* dst, size_t pitch, int32_t value,
                                 size_t row_bytes, size_t rows,
                                 soft_stream* stream) {
  return fillAsync("soft_memset_2d_async", {dst, pitch}, value,
                   {row_bytes, rows}, stream);
}
