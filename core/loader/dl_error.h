// SPDX-License-Identifier: Apache-2.0
//
// What the dynamic linker says, in words that people can act on.
#pragma once

#include <string>

namespace dipu::loader {

// Turns the linker's message about the file at `path` into a reason and a
// remedy. A wording that is unknown is passed on, with a remedy that fits any.
std::string explainDlError(const std::string& text, const std::string& path);

}  // namespace dipu::loader
