// SPDX-License-Identifier: Apache-2.0
//
// Failures of a vendor call as torch exceptions.
#pragma once

#include <cstdint>

#include "core/abi/base.h"

namespace dipu::runtime {

// Throws what `error` says and releases it. `device` is the device of the
// failed call, named in the message; DIPU_HOST leaves only the vendor's name.
//
//   DIPU_RESOURCE_EXHAUSTED    c10::OutOfMemoryError
//   DIPU_UNIMPLEMENTED         c10::NotImplementedError
//   DIPU_INVALID_ARGUMENT      c10::ValueError
//   DIPU_OUT_OF_RANGE          c10::IndexError
//   DIPU_INTERNAL, _UNKNOWN, _UNAVAILABLE, _ABORTED, _DATA_LOSS
//                              c10::AcceleratorError with the SDK's own code
//   others                     c10::Error
//
// DIPU_INTERNAL of a device may last as long as the process: the message says
// so.
[[noreturn]] void throwError(dipu_error* error, int32_t device = DIPU_HOST);

// Throws as throwError does unless `error` is null, which stands for success.
inline void check(dipu_error* error, int32_t device = DIPU_HOST) {
  if (__builtin_expect(error != nullptr, 0)) throwError(error, device);
}

// For places that must not throw: logs and releases `error`. Returns whether
// the call succeeded.
bool succeeded(dipu_error* error, const char* what) noexcept;

}  // namespace dipu::runtime
