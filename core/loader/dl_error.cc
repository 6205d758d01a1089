// SPDX-License-Identifier: Apache-2.0
#include "core/loader/dl_error.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <string>

namespace dipu::loader {
namespace {

std::string demangled(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status),
      &std::free);
  return name ? symbol + " (" + name.get() + ")" : symbol;
}

// The library that glibc could not find, from "<library>: cannot open ...".
std::string explainMissing(const std::string& library) {
  return "it needs " + library +
         ", which was not found. Install what provides it (the vendor's SDK "
         "or driver) or add its folder to LD_LIBRARY_PATH";
}

std::string explainUndefined(const std::string& object,
                             const std::string& symbol,
                             const std::string& path) {
  return (object == path ? std::string("it") : object) + " uses the symbol " +
         demangled(symbol) +
         ", which no library it needs defines. Install the version of the "
         "SDK that it was built for, or link it with -Wl,--no-undefined";
}

std::string explainVersion(const std::string& object,
                           const std::string& version,
                           const std::string& path) {
  return "it needs " + version + " of a library, but " +
         (object == path ? std::string("the file itself") : object) +
         ", which was found, does not have it. Install the version of the SDK "
         "or system that it was built for";
}

}  // namespace

// The wordings are glibc's.
std::string explainDlError(const std::string& text, const std::string& path) {
  static constexpr char kCannotOpen[] = ": cannot open shared object file";
  static constexpr char kUndefined[] = ": undefined symbol: ";
  static constexpr char kVersion[] = ": version `";
  if (const auto at = text.find(kCannotOpen); at != std::string::npos) {
    const std::string library = text.substr(0, at);
    if (library != path) return explainMissing(library);
  }
  if (const auto at = text.find(kUndefined); at != std::string::npos) {
    const size_t start = at + sizeof(kUndefined) - 1;
    const std::string symbol =
        text.substr(start, text.find(',', start) - start);
    return explainUndefined(text.substr(0, at), symbol, path);
  }
  if (const auto at = text.find(kVersion); at != std::string::npos) {
    const size_t start = at + sizeof(kVersion) - 1;
    const std::string version =
        text.substr(start, text.find('\'', start) - start);
    return explainVersion(text.substr(0, at), version, path);
  }
  return "the dynamic linker refuses it: " + text +
         ". Run ldd on it to see what it lacks, or install its package anew";
}

}  // namespace dipu::loader
