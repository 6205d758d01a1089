// SPDX-License-Identifier: Apache-2.0
#include "core/loader/shared_object.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <filesystem>
#include <string>
#include <system_error>

#include "core/loader/dl_error.h"
#include "core/loader/loader.h"
#include "core/loader/text.h"

namespace dipu::loader {
namespace {

namespace fs = std::filesystem;

void checkFile(const std::string& kind, const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  switch (status.type()) {
    case fs::file_type::regular:
      break;
    case fs::file_type::not_found:
      failLoad(kind, path,
               "the file does not exist. Install the vendor's package, or "
               "correct the path");
    case fs::file_type::directory:
      failLoad(kind, path, "it is a folder. Name the .so file in it");
    case fs::file_type::none:
      failLoad(kind, path,
               "the file cannot be reached: " + error.message() +
                   ". Correct the path or the permissions");
    default:
      failLoad(kind, path, "it is not a regular file. Name the .so file");
  }
  if ((status.permissions() & fs::perms::others_write) != fs::perms::none) {
    failLoad(kind, path,
             "every user of this machine can change it, so it could run "
             "anybody's code. Take that right away: chmod o-w " +
                 path);
  }
  if (faccessat(AT_FDCWD, path.c_str(), R_OK, AT_EACCESS) != 0) {
    failLoad(kind, path,
             std::string("the file cannot be read: ") + std::strerror(errno) +
                 ". Give this user the right to read it");
  }
}

}  // namespace

void failLoad(const std::string& kind, const std::string& path,
              const std::string& reason) {
  throw LoadError("cannot load " + kind + " " + safeText(path) + ": " +
                  safeText(reason));
}

std::string absolutePath(const std::string& path) {
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error);
  return error ? path : absolute.lexically_normal().string();
}

ElfInfo inspectSharedObject(const std::string& kind, const std::string& path) {
  checkFile(kind, path);
  try {
    return readElf(path);
  } catch (const std::exception& exception) {
    failLoad(kind, path, exception.what());
  }
}

void* openSharedObject(const std::string& kind, const std::string& path,
                       Scope scope) {
  const int visible = scope == Scope::kGlobal ? RTLD_GLOBAL : RTLD_LOCAL;
  void* const handle = dlopen(path.c_str(), RTLD_NOW | visible);
  if (handle == nullptr) {
    const char* text = dlerror();
    failLoad(kind, path,
             explainDlError(text != nullptr ? text : "dlopen", path));
  }
  return handle;
}

}  // namespace dipu::loader
