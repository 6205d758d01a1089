// SPDX-License-Identifier: Apache-2.0
//
// Filling structs of the contract without minding their sizes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace dipu::plugin_kit {

// An empty table of type Api with struct_size and version filled in.
template <typename Api>
constexpr Api makeTable(uint32_t version) {
  Api api{};
  api.struct_size = sizeof(Api);
  api.version = version;
  return api;
}

// Hands `filled` to a caller whose struct may be older (shorter) or newer
// (longer): copies the fields that both sides know and leaves the others, and
// the caller's struct_size, as they are.
template <typename Struct>
void copyKnownFields(const Struct& filled, Struct* inout) {
  constexpr size_t kStart = sizeof(filled.struct_size);
  const size_t end = std::min(inout->struct_size, sizeof(Struct));
  if (end <= kStart) return;
  std::memcpy(reinterpret_cast<char*>(inout) + kStart,
              reinterpret_cast<const char*>(&filled) + kStart, end - kStart);
}

}  // namespace dipu::plugin_kit
