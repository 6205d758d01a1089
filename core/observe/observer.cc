// SPDX-License-Identifier: Apache-2.0
#include "core/observe/observer.h"

namespace dipu::observe {
namespace detail {

std::atomic<Observer*> g_observer{nullptr};

}  // namespace detail

void setObserver(Observer* observer) noexcept {
  detail::g_observer.store(observer, std::memory_order_release);
}

}  // namespace dipu::observe
