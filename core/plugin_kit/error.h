// SPDX-License-Identifier: Apache-2.0
//
// Making and owning dipu_error objects, for plug-ins written in C++.
#pragma once

#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/abi/base.h"

namespace dipu::plugin_kit {

// Returns a new error; the caller owns it. `format` and what follows are as for
// printf. Say what failed, with which values, and what to do about it.
// `vendor_code` is the SDK's own code, 0 when there is none. What printf cannot
// format, such as wide characters that the locale lacks, leaves `format` itself
// as the text.
//
// Never throws and never returns NULL: when there is no memory for the error
// it returns a static one that says so, with the same release protocol.
[[gnu::format(printf, 3, 4)]] dipu_error* makeError(dipu_status_code code,
                                                    int64_t vendor_code,
                                                    const char* format,
                                                    ...) noexcept;

// As above with an argument list. `allocate` is malloc or a stand-in; the error
// is released with free.
[[gnu::format(printf, 3, 0)]] dipu_error* makeErrorFrom(
    dipu_status_code code, int64_t vendor_code, const char* format,
    va_list arguments, void* (*allocate)(size_t bytes)) noexcept;

// Releases `error`; NULL is accepted, and so is an error of somebody else that
// breaks the contract and has no release.
void releaseError(dipu_error* error) noexcept;

struct ErrorReleaser {
  void operator()(dipu_error* error) const noexcept { releaseError(error); }
};

// Owns an error. Empty means success.
using ErrorPtr = std::unique_ptr<dipu_error, ErrorReleaser>;

}  // namespace dipu::plugin_kit
