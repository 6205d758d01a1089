// SPDX-License-Identifier: Apache-2.0
//
// dlopen with errors that people can act on.
#pragma once

#include <string>

#include "core/loader/elf.h"

namespace dipu::loader {

// Whether the names that an object exports serve objects opened later.
enum class Scope { kLocal, kGlobal };

// Checks, without running any of its code, that the file at `path` can be
// opened on this machine and that nobody but its owner and group can change
// it. `kind` names it in messages, as in "vendor library". Throws LoadError.
ElfInfo inspectSharedObject(const std::string& kind, const std::string& path);

// Opens a file that has been inspected, binding all symbols at once. Its
// constructors run. The caller keeps it open. Throws LoadError.
void* openSharedObject(const std::string& kind, const std::string& path,
                       Scope scope);

// Throws the LoadError "cannot load <kind> <path>: <reason>". The last sentence
// of `reason` says what to do; the doctor shows it as the cure.
[[noreturn]] void failLoad(const std::string& kind, const std::string& path,
                           const std::string& reason);

// `path` made absolute, without resolving links: libraries that belong together
// may be linked into one folder.
std::string absolutePath(const std::string& path);

}  // namespace dipu::loader
