// SPDX-License-Identifier: Apache-2.0
#include "vendors/droplet/context.h"

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <vector>

namespace dipu::vendors::droplet {
namespace {

class DefaultStreams {
 public:
  tangError_t get(int32_t device, tangStream_t* out_stream) {
    if (device < 0) return tangErrorInvalidDevice;
    const auto index = static_cast<size_t>(device);
    // A forked child must not take the lock, which another thread of its parent
    // may have held.
    int count = 0;
    const tangError_t usable = tangGetDeviceCount(&count);
    if (usable != tangSuccess) return usable;
    const std::lock_guard<std::mutex> lock(mutex_);
    if (index >= streams_.size() || streams_[index] == nullptr) {
      tangStream_t stream = nullptr;
      const tangError_t status = onDevice(device, [&] {
        return tangStreamCreateWithFlags(&stream, tangStreamNonBlocking);
      });
      if (status != tangSuccess) return status;
      streams_.resize(std::max(streams_.size(), index + 1));
      streams_[index] = stream;
    }
    *out_stream = streams_[index];
    return tangSuccess;
  }

  void forget(int32_t device) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto index = static_cast<size_t>(device);
    if (index < streams_.size()) streams_[index] = nullptr;
  }

 private:
  std::mutex mutex_;  // guards streams_
  std::vector<tangStream_t> streams_;
};

DefaultStreams& defaultStreams() {
  // Never destroyed: other threads may copy while the process ends.
  static auto* streams = new DefaultStreams;
  return *streams;
}

}  // namespace

tangError_t getDefaultStream(int32_t device, tangStream_t* out_stream) {
  return defaultStreams().get(device, out_stream);
}

void forgetDefaultStream(int32_t device) { defaultStreams().forget(device); }

}  // namespace dipu::vendors::droplet
