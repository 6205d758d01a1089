// SPDX-License-Identifier: Apache-2.0
#include "core/loader/shared_object.h"

#include <cxxabi.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include "core/loader/loader.h"

namespace dipu::loader {
namespace {

namespace fs = std::filesystem;

std::string demangled(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status),
      &std::free);
  return name ? symbol + " (" + name.get() + ")" : symbol;
}

// Turns the dynamic linker's one line into a reason and a remedy. Its wording
// is glibc's; an unknown one is passed on.
std::string explain(const std::string& text, const std::string& path) {
  static constexpr char kCannotOpen[] = ": cannot open shared object file";
  static constexpr char kUndefined[] = ": undefined symbol: ";
  if (const auto at = text.find(kCannotOpen); at != std::string::npos) {
    const std::string library = text.substr(0, at);
    if (library != path) {
      return "it needs " + library +
             ", which was not found. Install what provides it (the vendor's "
             "SDK or driver) or add its folder to LD_LIBRARY_PATH";
    }
  }
  if (const auto at = text.find(kUndefined); at != std::string::npos) {
    const size_t start = at + sizeof(kUndefined) - 1;
    const std::string symbol =
        text.substr(start, text.find(',', start) - start);
    const std::string object = text.substr(0, at);
    return (object == path ? std::string("it") : object) + " uses the symbol " +
           demangled(symbol) +
           ", which no library it needs defines. Install the version of the "
           "SDK that it was built for, or link it with -Wl,--no-undefined";
  }
  return text;
}

void checkFile(const std::string& kind, const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) {
    failLoad(kind, path, "the file does not exist");
  }
  if (status.type() == fs::file_type::directory) {
    failLoad(kind, path, "it is a folder; name the .so file in it");
  }
  if (status.type() != fs::file_type::regular) {
    failLoad(kind, path, "it is not a regular file");
  }
}

}  // namespace

void failLoad(const std::string& kind, const std::string& path,
              const std::string& reason) {
  throw LoadError("cannot load " + kind + " " + path + ": " + reason);
}

std::string absolutePath(const std::string& path) {
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error);
  return error ? path : absolute.lexically_normal().string();
}

SharedObject openSharedObject(const std::string& kind, const std::string& path,
                              Scope scope) {
  checkFile(kind, path);
  SharedObject object{};
  try {
    object.elf = readElf(path);
  } catch (const std::exception& exception) {
    failLoad(kind, path, exception.what());
  }
  const int visible = scope == Scope::kGlobal ? RTLD_GLOBAL : RTLD_LOCAL;
  object.handle = dlopen(path.c_str(), RTLD_NOW | visible);
  if (object.handle == nullptr) {
    const char* text = dlerror();
    failLoad(kind, path, explain(text != nullptr ? text : "dlopen", path));
  }
  return object;
}

}  // namespace dipu::loader
