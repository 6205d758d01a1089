// SPDX-License-Identifier: Apache-2.0
//
// dlopen with errors that people can act on.
#pragma once

#include <string>

#include "core/loader/elf.h"

namespace dipu::loader {

// A shared object that is open.
struct SharedObject {
  void* handle;
  ElfInfo elf;
};

// Whether the names that an object exports serve objects opened later.
enum class Scope { kLocal, kGlobal };

// Opens the file at `path`, binding all symbols at once. `kind` names it in
// messages, as in "vendor library". The caller keeps it open. Throws LoadError.
SharedObject openSharedObject(const std::string& kind, const std::string& path,
                              Scope scope);

// Throws the LoadError "cannot load <kind> <path>: <reason>".
[[noreturn]] void failLoad(const std::string& kind, const std::string& path,
                           const std::string& reason);

// `path` made absolute, without resolving links: libraries that belong together
// may be linked into one folder.
std::string absolutePath(const std::string& path);

}  // namespace dipu::loader
