// SPDX-License-Identifier: Apache-2.0
//
// The stream that tangStreamPerThread names.
#include <cstdint>
#include <memory>
#include <new>

#include "softdevice/soft_graph.h"
#include "vendors/droplet/tang/status.h"

namespace dipu::tang {
namespace {

// One stream per device, NULL until it is asked for.
struct ThreadStreams {
  // Their work is finished, not waited for.
  ~ThreadStreams() {
    for (int32_t device = 0; device < count; ++device) {
      if (streams[device] != nullptr) soft_stream_destroy(streams[device]);
    }
  }

  int32_t count = 0;
  std::unique_ptr<soft_stream*[]> streams;
};

tangError_t createArray(ThreadStreams* mine) {
  int32_t count = 0;
  if (tangError_t error = check(soft_device_count(&count))) return error;
  if (count == 0) return fail(tangErrorNoDevice, "SOFTDEVICE_COUNT is 0");
  mine->streams.reset(new (std::nothrow) soft_stream*[count]());
  if (mine->streams == nullptr) {
    return fail(tangErrorMemoryAllocation,
                "tangStreamPerThread: no host memory for %d handles", count);
  }
  mine->count = count;
  return tangSuccess;
}

// False once its device has been reset. A handle is never given out again.
bool isAlive(soft_stream* stream) {
  soft_capture_status status = SOFT_CAPTURE_STATUS_NONE;
  return stream != nullptr &&
         soft_stream_get_capture(stream, &status, nullptr) == SOFT_OK;
}

}  // namespace

tangError_t perThreadStream(int device, soft_stream** out_stream) {
  static thread_local ThreadStreams mine;
  if (mine.streams == nullptr) {
    if (tangError_t error = createArray(&mine)) return error;
  }
  soft_stream*& stream = mine.streams[device];
  if (!isAlive(stream)) {
    if (tangError_t error = check(soft_stream_create(
            device, /*priority=*/0, SOFT_STREAM_DEFAULT, &stream))) {
      return error;
    }
  }
  *out_stream = stream;
  return tangSuccess;
}

}  // namespace dipu::tang
