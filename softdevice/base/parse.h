// SPDX-License-Identifier: Apache-2.0
//
// Numbers in settings.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dipu::softdevice {

// Parses a whole number >= 0 that is followed by `*rest`.
bool parseNumber(const char* text, uint64_t* out, const char** rest);

// Parses a whole number with an optional suffix K, M or G (powers of 1024)
// and nothing behind it.
bool parseBytes(const char* text, std::size_t* out);

}  // namespace dipu::softdevice
