// SPDX-License-Identifier: Apache-2.0
#include "core/loader/dependencies.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace dipu::loader {
namespace {

namespace fs = std::filesystem;

void append(std::vector<fs::path>& folders, std::string list,
            const fs::path& origin) {
  for (const std::string name : {"${ORIGIN}", "$ORIGIN"}) {
    for (size_t at = 0; (at = list.find(name, at)) != std::string::npos;) {
      list.replace(at, name.size(), origin.string());
      at += origin.string().size();
    }
  }
  std::istringstream parts(list);
  for (std::string part; std::getline(parts, part, ':');) {
    folders.emplace_back(part.empty() ? "." : part);
  }
}

// In the dynamic linker's order: ld.so(8).
std::vector<fs::path> foldersOf(const ElfInfo& library,
                                const fs::path& origin) {
  std::vector<fs::path> folders;
  if (library.runpath.empty()) append(folders, library.rpath, origin);
  if (const char* list = std::getenv("LD_LIBRARY_PATH")) {
    append(folders, list, origin);
  }
  append(folders, library.runpath, origin);
  return folders;
}

// Such a library is not opened again.
bool isLoaded(const std::string& name) {
  void* const handle = dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return false;
  dlclose(handle);
  return true;
}

class Search {
 public:
  std::string visit(const ElfInfo& library, const fs::path& path) {
    const auto folders = foldersOf(library, path.parent_path());
    for (const std::string& name : library.needed) {
      if (!seen_.insert(name).second || isLoaded(name)) continue;
      const std::string found = visitFirst(name, folders);
      if (!found.empty()) return found;
    }
    return "";
  }

 private:
  // Visits the first file of this name that the dynamic linker would take.
  std::string visitFirst(const std::string& name,
                         const std::vector<fs::path>& folders) {
    for (const fs::path& folder : folders) {
      const fs::path file = folder / name;
      std::error_code error;
      if (!fs::is_regular_file(file, error)) continue;
      try {
        return visit(readElf(file.string()), file);
      } catch (const TruncatedElf&) {
        return file.string();
      } catch (const std::runtime_error&) {
        // Of another machine, which is passed over, or the dynamic linker has
        // words for what is wrong.
        continue;
      }
    }
    return "";
  }

  std::set<std::string> seen_;
};

}  // namespace

std::string truncatedDependency(const ElfInfo& library,
                                const std::string& path) {
  return Search().visit(library, path);
}

}  // namespace dipu::loader
