// SPDX-License-Identifier: Apache-2.0
//
// Calls of a vendor's functions. The contract forbids that an exception leaves
// one; a vendor that lets one out all the same is reported like one that fails.
//
//   check(call("stream.synchronize", streamApi().synchronize, handle), device);
//
// Costs nothing as long as nothing is thrown.
#pragma once

#include "core/abi/base.h"

namespace dipu::vendor_call {

namespace detail {

// The error for the exception that is being handled, which `slot` threw instead
// of what it `should` do. Call it inside a handler only. Never null.
dipu_error* errorOfException(const char* slot, const char* should) noexcept;

}  // namespace detail

// Calls `function`, the slot that messages call `slot` ("table.field"), and
// returns its error, which the caller owns; null for success. An exception
// becomes an error that says who threw what: std::bad_alloc
// DIPU_RESOURCE_EXHAUSTED, any other one DIPU_UNKNOWN.
template <typename... Params, typename... Args>
dipu_error* call(const char* slot, dipu_error* (*function)(Params...),
                 Args... args) noexcept {
  try {
    return function(args...);
  } catch (...) {
    return detail::errorOfException(
        slot, "return a dipu_error, as the guard of plugin_kit does");
  }
}

// As above for a function that cannot fail; only an exception gives an error.
template <typename... Params, typename... Args>
dipu_error* call(const char* slot, void (*function)(Params...),
                 Args... args) noexcept {
  try {
    function(args...);
    return nullptr;
  } catch (...) {
    return detail::errorOfException(slot, "catch what is thrown in it");
  }
}

}  // namespace dipu::vendor_call
