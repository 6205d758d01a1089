// SPDX-License-Identifier: Apache-2.0
#include "diopi_adapter/aten/draw.h"

#include <algorithm>

namespace dipu::aten {
namespace {

// Taken before a generator's own mutex_, never inside it.
std::mutex& drawMutex() {
  static auto* mutex = new std::mutex;
  return *mutex;
}

}  // namespace

Draw::Draw(const std::optional<at::Generator>& generator,
           c10::DeviceIndex device, int64_t count)
    : lock_(drawMutex()),
      generator_(random::generatorFor(generator, device)),
      count_(static_cast<uint64_t>(std::max<int64_t>(count, 1))),
      offset_before_(offset()) {}

uint64_t Draw::offset() const {
  const std::lock_guard<std::mutex> lock(generator_.mutex_);
  return generator_.get_offset();
}

void Draw::finish() {
  const std::lock_guard<std::mutex> lock(generator_.mutex_);
  if (generator_.get_offset() == offset_before_) generator_.reserve(count_);
}

}  // namespace dipu::aten
