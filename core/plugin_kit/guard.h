// SPDX-License-Identifier: Apache-2.0
//
// Filling the contract's tables from C++ functions without letting an exception
// out. One pattern covers all slots:
//
//   dipu_error* getCount(int32_t* out_count);   // may throw
//
//   // With makeTable of table.h.
//   constexpr dipu_device_api makeDeviceApi() {
//     auto api = makeTable<dipu_device_api>(DIPU_DEVICE_API_VERSION);
//     api.get_count = kGuarded<getCount>;
//     ...
//     return api;
//   }
//   constexpr dipu_device_api kDeviceApi = makeDeviceApi();
#pragma once

#include <exception>
#include <new>

#include "core/abi/base.h"
#include "core/plugin_kit/error.h"

namespace dipu::plugin_kit {

// Calls `body`, which returns a dipu_error*, and returns its result. An
// exception becomes an error: std::bad_alloc DIPU_RESOURCE_EXHAUSTED, any
// other one DIPU_INTERNAL with its text.
template <typename Body>
dipu_error* guard(Body&& body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return makeError(DIPU_RESOURCE_EXHAUSTED, 0, "out of host memory");
  } catch (const std::exception& exception) {
    return makeError(DIPU_INTERNAL, 0, "unexpected exception: %s",
                     exception.what());
  } catch (...) {
    return makeError(DIPU_INTERNAL, 0, "unexpected exception of unknown type");
  }
}

namespace internal {

template <auto Function>
struct Guarded;

template <typename... Args, dipu_error* (*Function)(Args...)>
struct Guarded<Function> {
  static dipu_error* call(Args... args) noexcept {
    return guard([&] { return Function(args...); });
  }
};

// Release functions cannot report; an exception has nowhere to go.
template <typename... Args, void (*Function)(Args...)>
struct Guarded<Function> {
  static void call(Args... args) noexcept {
    try {
      Function(args...);
    } catch (...) {
    }
  }
};

}  // namespace internal

// The C function for a slot: `Function` inside guard(). `Function` returns
// dipu_error*, or void in a release slot, and has the slot's parameters.
template <auto Function>
inline constexpr auto kGuarded = &internal::Guarded<Function>::call;

}  // namespace dipu::plugin_kit
