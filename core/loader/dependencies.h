// SPDX-License-Identifier: Apache-2.0
//
// The libraries that a library needs, before it is opened.
#pragma once

#include <string>

#include "core/loader/elf.h"

namespace dipu::loader {

// The path of a truncated library that opening `library` would open too, and
// that would end the process; "" when none is found. Looks where the library
// and LD_LIBRARY_PATH tell the dynamic linker to look first, not into the
// system's folders, and through what the libraries found need in turn.
//
// `path` is where `library` was read from.
std::string truncatedDependency(const ElfInfo& library,
                                const std::string& path);

}  // namespace dipu::loader
