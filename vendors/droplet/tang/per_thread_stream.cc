// SPDX-License-Identifier: Apache-2.0
//
// The stream that tangStreamPerThread names.
#include <atomic>
#include <cstdint>

#include "vendors/droplet/tang/status.h"

namespace dipu::tang {
namespace {

constexpr int kMaxDevices = 16;

// How often a device has been reset, which ends its streams.
std::atomic<uint64_t> resets[kMaxDevices];

struct ThreadStreams {
  struct Entry {
    soft_stream* stream = nullptr;
    uint64_t resets = 0;
  };

  // Their work is finished, not waited for.
  ~ThreadStreams() {
    for (int device = 0; device < kMaxDevices; ++device) {
      const Entry& entry = entries[device];
      if (entry.stream != nullptr && entry.resets == resets[device].load()) {
        soft_stream_destroy(entry.stream);
      }
    }
  }

  Entry entries[kMaxDevices];
};

}  // namespace

tangError_t perThreadStream(int device, soft_stream** out_stream) {
  static thread_local ThreadStreams streams;
  ThreadStreams::Entry& entry = streams.entries[device];
  const uint64_t now = resets[device].load();
  if (entry.stream == nullptr || entry.resets != now) {
    soft_stream* stream = nullptr;
    if (tangError_t error = check(soft_stream_create(
            device, /*priority=*/0, SOFT_STREAM_DEFAULT, &stream))) {
      return error;
    }
    entry = {stream, now};
  }
  *out_stream = entry.stream;
  return tangSuccess;
}

void forgetPerThreadStreams(int device) { resets[device].fetch_add(1); }

}  // namespace dipu::tang
