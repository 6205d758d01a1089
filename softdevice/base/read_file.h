// SPDX-License-Identifier: Apache-2.0
//
// Small files of the system, as a whole.
#pragma once

#include <string>

namespace dipu::softdevice {

// The contents of a file, or nothing and errno when it cannot be read. Works
// through the system's calls only: a stream would hide the errno.
std::string readFile(const std::string& path);

}  // namespace dipu::softdevice
