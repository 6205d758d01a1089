// SPDX-License-Identifier: Apache-2.0
//
// Order between streams.
#pragma once

#include <cstdint>

#include "softdevice/softdevice.h"
#include "softdevice/stream/stream.h"

namespace dipu::softdevice {

// Makes later work of `stream` wait until `other` has reached `position`.
// Enqueues nothing when it has.
soft_status enqueueWait(soft_stream* stream, soft_stream* other,
                        uint64_t position);

// Note [Default stream]
// Work of a device's default stream waits for what was enqueued before on all
// streams without SOFT_STREAM_NON_BLOCKING, and work of those waits for what
// was enqueued before on the default stream. Every function that enqueues calls
// enterStream() first, which checks the handle and enqueues these waits; it
// costs one load and a branch while a device has no such streams. A stream that
// is being captured waits for nobody, and the default stream cannot wait for
// it.
soft_status orderWithOthers(const char* function, soft_stream* stream);

// As orderWithOthers, unless the stream's device is lost.
soft_status enterBarred(const char* function, soft_stream* stream);

// The error for a handle that is NULL or dead, or a process that is ending.
soft_status failStream(const char* function, const soft_stream* stream);

// Checks the handle and brings the stream into order, see Note [Default
// stream].
inline soft_status enterStream(const char* function, soft_stream* stream) {
  if (stream == nullptr || stream->closed() || !processIsRunning()) {
    return failStream(function, stream);
  }
  return stream->isBarred() ? enterBarred(function, stream) : SOFT_OK;
}

}  // namespace dipu::softdevice
