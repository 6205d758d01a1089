// SPDX-License-Identifier: Apache-2.0
//
// Texts that come from a vendor, made safe to show: a vendor may break the
// contract, and what it says must still reach the user.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/abi/base.h"

namespace dipu::loader {

// `text` as valid UTF-8: bytes that are not part of a character, and control
// characters other than tab and newline, become "\xff".
std::string safeText(std::string_view text);

// As above; null gives "".
std::string safeText(const char* text);

// Makes a text in a fixed buffer safe in place: ends it with NUL at the latest
// in the last byte and replaces by '?' what is not UTF-8.
void makeSafe(char* buffer, size_t capacity) noexcept;

// What a dipu_error said.
struct VendorError {
  dipu_status_code code;  // one of the known failures
  int64_t vendor_code;    // 0 when there is none
  std::string text;       // never empty, valid UTF-8
};

// Reads `error`, which is not null, and releases it.
VendorError takeError(dipu_error* error);

}  // namespace dipu::loader
