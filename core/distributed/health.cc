// SPDX-License-Identifier: Apache-2.0
#include "core/distributed/health.h"

#include <c10/util/Exception.h>

namespace dipu::distributed {

void Health::fail(FailureKind kind, const std::string& text) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!isGood()) return;
  text_ = text;
  kind_.store(kind, std::memory_order_release);
}

void Health::check() const {
  if (isGood()) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  C10_THROW_ERROR(DistBackendError, text_);
}

std::exception_ptr Health::exception() const {
  try {
    check();
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

}  // namespace dipu::distributed
