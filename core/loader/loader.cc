// SPDX-License-Identifier: Apache-2.0
#include "core/loader/loader.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/loader/dependencies.h"
#include "core/loader/exception.h"
#include "core/loader/shared_object.h"
#include "core/loader/tables.h"

namespace dipu::loader {
namespace {

constexpr char kKind[] = "vendor library";

bool contains(const std::vector<std::string>& list, const char* text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

// The library that this thread is opening; null when none.
thread_local const std::string* t_opening = nullptr;

// Marks a library as being opened. Its constructors and its entry point run in
// this time; one that opens vendor libraries itself would never come to an end,
// also when it lets another thread do it and waits for that.
class Opening {
 public:
  explicit Opening(const std::string& path) : path_(path) {
    if (t_opening != nullptr) {
      failLoad(kKind, path,
               "it is asked for while " + *t_opening +
                   " is being opened, whose constructors or entry point call "
                   "back into the host. Report it to that library's vendor");
    }
    const std::lock_guard lock(mutex());
    if (!all().insert(path).second) {
      failLoad(kKind, path,
               "another thread is opening it. If that thread belongs to the "
               "host, try again; if it waits for this one because the "
               "library's constructors or entry point call back into the "
               "host, report it to the library's vendor");
    }
    t_opening = &path_;
  }
  ~Opening() {
    const std::lock_guard lock(mutex());
    all().erase(path_);
    t_opening = nullptr;
  }
  Opening(const Opening&) = delete;
  Opening& operator=(const Opening&) = delete;

 private:
  // Both are never destroyed: a library may be opened while the process ends.
  static std::mutex& mutex() {
    static auto* const instance = new std::mutex;
    return *instance;
  }
  // Libraries that are being opened, guarded by the mutex.
  static std::set<std::string>& all() {
    static auto* const instance = new std::set<std::string>;
    return *instance;
  }

  const std::string path_;
};

// A library with the unwinder linked in statically ends the process when an
// exception leaves it, instead of letting the host catch it. Such a copy asks
// the dynamic linker for unwind tables and does not need the shared one. One
// that asks for other reasons and handles no exceptions is as good as others.
std::string checkUnwinder(const ElfInfo& elf) {
  const bool asks = contains(elf.undefined, "_dl_find_object") ||
                    contains(elf.undefined, "dl_iterate_phdr");
  const bool has_unwinder = asks && elf.handles_exceptions;
  if (!has_unwinder || contains(elf.needed, "libgcc_s.so.1")) return "";
  return "it contains a copy of libgcc's unwinder, so a C++ exception in it "
         "would end the process. Link it without -static-libgcc";
}

// Calls the entry point. Its own rules forbid exceptions; one that comes anyway
// is reported like any other failure.
const dipu_vendor* query(dipu_vendor_query_fn entry, const std::string& path) {
  try {
    return entry(DIPU_ABI_VERSION);
  } catch (...) {
    failLoad(kKind, path, "its entry point " + currentException());
  }
}

constexpr char kNoEntry[] =
    "it does not export " DIPU_VENDOR_QUERY_SYMBOL
    ", so it is not a vendor library of DIPU. Name the vendor's "
    "libdipu_<name>.so, not a library of its SDK";

// Refuses what can be refused before any code of the library runs.
void checkElf(const ElfInfo& elf, const std::string& path) {
  const std::string unwinder = checkUnwinder(elf);
  if (!unwinder.empty()) failLoad(kKind, path, unwinder);
  const std::string truncated = truncatedDependency(elf, path);
  if (!truncated.empty()) {
    failLoad(kKind, path,
             "it needs " + truncated +
                 ", which is truncated. Install the package of that file anew");
  }
  if (contains(elf.variables, DIPU_VENDOR_QUERY_SYMBOL)) {
    failLoad(kKind, path,
             "its " DIPU_VENDOR_QUERY_SYMBOL
             " is a variable, not a function. Define the function of "
             "core/abi/vendor_api.h");
  }
  // A file without section headers lists no symbols; dlsym will tell.
  if (elf.exported.empty() || contains(elf.exported, DIPU_VENDOR_QUERY_SYMBOL))
    return;
  const bool is_mangled =
      std::any_of(elf.exported.begin(), elf.exported.end(), [](auto& symbol) {
        return symbol.find(DIPU_VENDOR_QUERY_SYMBOL) != std::string::npos;
      });
  failLoad(kKind, path,
           is_mangled ? "it exports " DIPU_VENDOR_QUERY_SYMBOL
                        " under a C++ name only. Include core/abi/vendor_api.h "
                        "where it is defined"
                      : kNoEntry);
}

// Opens the library and asks it for its tables.
const dipu_vendor* findVendor(const std::string& path) {
  void* const handle = openSharedObject(kKind, path, Scope::kLocal);
  auto entry = reinterpret_cast<dipu_vendor_query_fn>(
      dlsym(handle, DIPU_VENDOR_QUERY_SYMBOL));
  if (entry == nullptr) failLoad(kKind, path, kNoEntry);
  const dipu_vendor* vendor = query(entry, path);
  if (vendor == nullptr) {
    failLoad(kKind, path,
             "it cannot serve version " + versionText(DIPU_ABI_VERSION) +
                 " of the vendor contract, which this host has "
                 "(" DIPU_VENDOR_QUERY_SYMBOL
                 " returned NULL). Install releases of torch_dipu and of the "
                 "vendor's package that belong together");
  }
  return vendor;
}

}  // namespace

Library::Library(const dipu_vendor* vendor, std::string path)
    : vendor_(vendor), path_(std::move(path)) {
  const std::string problem = checkVendor(vendor);
  if (!problem.empty()) failLoad(kKind, path_, problem);
  const auto usable = [&](const char* name, auto field, uint32_t version) {
    const void* end = &(vendor->*field) + 1;
    const auto bytes = static_cast<size_t>(
        static_cast<const char*>(end) - reinterpret_cast<const char*>(vendor));
    const auto table = vendor->struct_size >= bytes ? vendor->*field : nullptr;
    return isUsable(name, table, version, notes_) ? table : nullptr;
  };
  operators_ =
      usable("operators", &dipu_vendor::operators, DIPU_OPERATORS_API_VERSION);
  communicator_ = usable("communicator", &dipu_vendor::communicator,
                         DIPU_COMMUNICATOR_API_VERSION);
  graph_ = usable("graph", &dipu_vendor::graph, DIPU_GRAPH_API_VERSION);
  ipc_ = usable("ipc", &dipu_vendor::ipc, DIPU_IPC_API_VERSION);
  virtual_memory_ = usable("virtual_memory", &dipu_vendor::virtual_memory,
                           DIPU_VIRTUAL_MEMORY_API_VERSION);
  profiler_ =
      usable("profiler", &dipu_vendor::profiler, DIPU_PROFILER_API_VERSION);
  generator_ =
      usable("generator", &dipu_vendor::generator, DIPU_GENERATOR_API_VERSION);
}

Library Library::open(const std::string& path) {
  const std::string absolute = absolutePath(path);
  // First, as the checks ask the dynamic linker, whose lock the thread that is
  // opening the library holds.
  const Opening opening(absolute);
  checkElf(inspectSharedObject(kKind, absolute), absolute);
  // One that is refused from here on stays mapped: its constructors may have
  // started threads, which would run on in memory that is gone.
  return Library(findVendor(absolute), absolute);
}

Library Library::adopt(const dipu_vendor* vendor, const std::string& origin) {
  return Library(vendor, origin);
}

std::string Library::operatorLibraryPath() const {
  if (operators_ == nullptr) return "";
  // An absolute path replaces the folder.
  const std::filesystem::path folder =
      std::filesystem::path(path_).parent_path();
  return (folder / operators_->library).lexically_normal().string();
}

}  // namespace dipu::loader
