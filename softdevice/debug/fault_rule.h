// SPDX-License-Identifier: Apache-2.0
//
// The language of faults, see soft_debug.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dipu::softdevice {

enum class FaultKind : uint8_t {
  kOomBytes,
  kOomCall,
  kHostOomCall,
  kLaunch,
  kLaunchCall,
  kLost,
  kSlow,
  kHang
};

// One fault: what happens, when, and to whom.
struct FaultRule {
  static constexpr int32_t kAnyDevice = -1;
  static constexpr int64_t kAnyStream = -1;

  FaultKind kind;
  uint64_t value = 0;  // bytes, microseconds, or the number of the occasion
  uint64_t times = 1;  // occasions in a row from `value` on; 0: for ever
  int32_t device = kAnyDevice;
  int64_t stream = kAnyStream;
  std::string kernel = {};  // part of a kernel's name; "": any work

  // As it would be written, without filters: "launch=100".
  std::string text() const;
};

// Appends the faults that `text` describes. Returns what is wrong with it, ""
// if nothing; then, and only then, something has been appended.
std::string parseFaults(const char* text, std::vector<FaultRule>* rules);

// Whether one of the faults is for a device beyond the first `count`, so that
// it could never strike.
bool namesMissingDevice(const std::vector<FaultRule>& rules, int32_t count);

}  // namespace dipu::softdevice
