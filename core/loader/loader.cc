// SPDX-License-Identifier: Apache-2.0
#include "core/loader/loader.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "core/loader/shared_object.h"
#include "core/loader/tables.h"

namespace dipu::loader {
namespace {

constexpr char kKind[] = "vendor library";

bool contains(const std::vector<std::string>& list, const char* text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

// A library with the unwinder linked in statically ends the process when an
// exception leaves it, instead of letting the host catch it. Such a copy asks
// the dynamic linker for unwind tables and does not need the shared one.
std::string checkUnwinder(const ElfInfo& elf) {
  const bool has_unwinder = contains(elf.undefined, "_dl_find_object") ||
                            contains(elf.undefined, "dl_iterate_phdr");
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
    failLoad(kKind, path, "its entry point threw a C++ exception");
  }
}

const dipu_vendor* findVendor(const SharedObject& object,
                              const std::string& path) {
  const std::string unwinder = checkUnwinder(object.elf);
  if (!unwinder.empty()) failLoad(kKind, path, unwinder);
  auto entry = reinterpret_cast<dipu_vendor_query_fn>(
      dlsym(object.handle, DIPU_VENDOR_QUERY_SYMBOL));
  if (entry == nullptr) {
    failLoad(kKind, path,
             "it does not export " DIPU_VENDOR_QUERY_SYMBOL
             ", so it is not a vendor library of DIPU");
  }
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
  const std::string problem = checkVendor(*vendor);
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
  const SharedObject object = openSharedObject(kKind, absolute, Scope::kLocal);
  try {
    return Library(findVendor(object, absolute), absolute);
  } catch (const LoadError&) {
    dlclose(object.handle);
    throw;
  }
}

Library Library::adopt(const dipu_vendor* vendor, const std::string& origin) {
  if (vendor == nullptr) failLoad(kKind, origin, "its dipu_vendor is NULL");
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
