// SPDX-License-Identifier: Apache-2.0
//
// Memory and processors of this machine as far as this process may use them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace dipu::softdevice {

// Both in bytes: the smaller of what the machine and its control groups allow.
std::size_t machineMemory();
std::size_t availableMemory();

std::size_t pageBytes();

// Processors in the affinity mask, at least 1.
int32_t machineCores();

// Value of "Name:   123 kB" in the text of /proc/meminfo, in bytes; 0 if
// absent.
std::size_t meminfoField(const std::string& text, const std::string& name);

}  // namespace dipu::softdevice
