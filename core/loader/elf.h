// SPDX-License-Identifier: Apache-2.0
//
// Reads what the loader must know about a shared object before it is opened:
// opening a damaged or foreign file can end the process or explains nothing.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace dipu::loader {

struct ElfInfo {
  std::vector<std::string> needed;     // SONAMEs, in the file's order
  std::vector<std::string> exported;   // defined dynamic symbols
  std::vector<std::string> variables;  // those that are no functions
  std::vector<std::string> undefined;  // dynamic symbols it takes from others
  // Lists of folders with ':' between them, as DT_RPATH and DT_RUNPATH have
  // them; "" without one.
  std::string rpath;
  std::string runpath;
  // Whether it has code that C++ exceptions run into on their way.
  bool handles_exceptions = false;
};

// A file that ends before its segments do. Touching the rest raises SIGBUS.
struct TruncatedElf : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Reads the file at `path`. Throws std::runtime_error with the reason, without
// the path, when it is not a complete shared object for this machine.
ElfInfo readElf(const std::string& path);

}  // namespace dipu::loader
