// SPDX-License-Identifier: Apache-2.0
#include "core/loader/operator_library.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "core/loader/shared_object.h"
#include "core/loader/text.h"

namespace dipu::loader {
namespace {

constexpr char kKind[] = "operator library";
constexpr char kRevisionVariable[] = "DIPU_DIOPI_REVISION";

struct SymbolEntry {
  const char* name;
  // Its signature has changed while DIOPI's version stayed the same.
  bool has_changed;
};

constexpr SymbolEntry kSymbols[] = {
#define DIOPI_SYMBOL(name) {#name, false},
#define DIOPI_SYMBOL_CHANGED(name) {#name, true},
#include <diopi/symbols.inc>
};
static_assert(std::size(kSymbols) == kSymbolCount);

std::vector<std::string_view> split(std::string_view list) {
  std::vector<std::string_view> names;
  while (!list.empty()) {
    const size_t end = std::min(list.find(','), list.size());
    std::string_view name = list.substr(0, end);
    while (!name.empty() && name.front() == ' ') name.remove_prefix(1);
    while (!name.empty() && name.back() == ' ') name.remove_suffix(1);
    if (!name.empty()) names.push_back(name);
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return names;
}

// The function behind a mangled name of the outermost namespace, such as
// diopiAdd for _Z8diopiAddP12diopiContext; "" for any other name.
std::string_view unmangled(std::string_view symbol) {
  if (symbol.substr(0, 2) != "_Z") return "";
  symbol.remove_prefix(2);
  size_t length = 0;
  size_t digits = 0;
  while (digits < symbol.size() && digits < 4 && symbol[digits] >= '0' &&
         symbol[digits] <= '9') {
    length = length * 10 + static_cast<size_t>(symbol[digits] - '0');
    ++digits;
  }
  return digits == 0 ? "" : symbol.substr(digits, length);
}

uint32_t revisionFromText(const char* text) {
  char* end = nullptr;
  const unsigned long value = std::strtoul(text, &end, 10);
  if (*text < '0' || *text > '9' || *end != '\0' || value == 0 ||
      value > kDiopiRevision) {
    throw LoadError(
        std::string(kRevisionVariable) + " is '" + safeText(text) +
        "', which is no revision of the DIOPI signatures. Set it to a "
        "number from 1 to " +
        std::to_string(kDiopiRevision) + ", or unset it");
  }
  return static_cast<uint32_t>(value);
}

}  // namespace

const char* symbolName(Symbol symbol) noexcept {
  return kSymbols[static_cast<size_t>(symbol)].name;
}

size_t OperatorLibrary::count(SymbolState state) const noexcept {
  return static_cast<size_t>(std::count(states_.begin(), states_.end(), state));
}

void OperatorLibrary::chooseRevision(uint32_t declared) {
  const char* text = std::getenv(kRevisionVariable);
  if (text != nullptr && *text != '\0') declared = revisionFromText(text);
  if (declared > kDiopiRevision) {
    failLoad(kKind, path_,
             "it was built for revision " + std::to_string(declared) +
                 " of the DIOPI signatures, this host knows up to " +
                 std::to_string(kDiopiRevision) + ". Upgrade torch_dipu");
  }
  revision_is_declared_ = declared != 0;
  revision_ = revision_is_declared_ ? declared : 1;
  if (!revision_is_declared_) {
    warnings_.push_back(
        "operator library " + path_ +
        " does not declare its revision of the DIOPI signatures; revision 1 is "
        "assumed and functions that are known to have changed are not used. "
        "Set " +
        kRevisionVariable + "=1 to confirm it.");
  }
}

void OperatorLibrary::resolve(void* handle,
                              std::string_view disabled_functions) {
  const auto names = split(disabled_functions);
  const std::unordered_set<std::string_view> disabled(names.begin(),
                                                      names.end());
  for (size_t i = 0; i < kSymbolCount; ++i) {
    void* address = dlsym(handle, kSymbols[i].name);
    if (address == nullptr) {
      states_[i] = SymbolState::kMissing;
    } else if (disabled.count(kSymbols[i].name) != 0) {
      states_[i] = SymbolState::kDisabled;
    } else if (kSymbols[i].has_changed && !revision_is_declared_) {
      states_[i] = SymbolState::kRefused;
    } else {
      states_[i] = SymbolState::kFound;
      addresses_[i] = address;
    }
  }
}

void OperatorLibrary::warnAboutMangledNames() {
  const size_t mangled = count(SymbolState::kMangled);
  if (mangled == 0) return;
  const auto first =
      std::find(states_.begin(), states_.end(), SymbolState::kMangled);
  warnings_.push_back(
      "operator library " + path_ + " exports " + std::to_string(mangled) +
      " functions under C++ names only, " +
      kSymbols[first - states_.begin()].name +
      " among them, so they are not used. Include <diopi/functions.h> where "
      "they are defined, or declare them extern \"C\".");
}

OperatorLibrary OperatorLibrary::open(const Options& options) {
  constexpr char kRuntime[] = "DIOPI runtime";
  const std::string runtime_path = absolutePath(options.runtime_path);
  inspectSharedObject(kRuntime, runtime_path);
  openSharedObject(kRuntime, runtime_path, Scope::kGlobal);
  OperatorLibrary library;
  library.path_ = absolutePath(options.path);
  library.chooseRevision(options.revision);
  const ElfInfo elf = inspectSharedObject(kKind, library.path_);
  library.resolve(openSharedObject(kKind, library.path_, Scope::kLocal),
                  options.disabled_functions);

  std::unordered_set<std::string_view> mangled;
  for (const auto& name : elf.exported) mangled.insert(unmangled(name));
  for (size_t i = 0; i < kSymbolCount; ++i) {
    if (library.states_[i] == SymbolState::kMissing &&
        mangled.count(kSymbols[i].name) != 0) {
      library.states_[i] = SymbolState::kMangled;
    }
  }
  library.warnAboutMangledNames();
  return library;
}

OperatorLibrary OperatorLibrary::openFor(const Library& library,
                                         const std::string& runtime_path) {
  const dipu_operators_api* table = library.operators();
  if (table == nullptr) {
    failLoad("operators of", library.path(),
             "the vendor offers no operator library that this host can use. "
             "Install a release of its package that has one");
  }
  Options options;
  options.path = library.operatorLibraryPath();
  options.runtime_path = runtime_path;
  options.revision = table->diopi_revision;
  if (DIPU_HAS(table, disabled_functions)) {
    options.disabled_functions = table->disabled_functions;
  }
  return open(options);
}

}  // namespace dipu::loader
