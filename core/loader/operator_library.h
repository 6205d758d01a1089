// SPDX-License-Identifier: Apache-2.0
//
// Opens a DIOPI operator library and resolves all of its functions once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/loader/loader.h"

namespace dipu::loader {

// One enumerator per function that an operator library may export, named like
// the function: Symbol::diopiAdd. The order is that of <diopi/symbols.inc>.
enum class Symbol : uint16_t {
#define DIOPI_SYMBOL(name) name,
#include <diopi/symbols.inc>
};

inline constexpr size_t kSymbolCount = 0
#define DIOPI_SYMBOL(name) +1
#include <diopi/symbols.inc>
    ;  // NOLINT(whitespace/semicolon): ends the sum above.

// Name of a function, such as "diopiAdd". Static storage.
const char* symbolName(Symbol symbol) noexcept;

// What became of a function at load.
enum class SymbolState : uint8_t {
  kFound,
  // Not exported; the host computes on the CPU.
  kMissing,
  // Exported under a C++ name only: its declaration lacked extern "C".
  kMangled,
  // Its signature has changed in the past and the library does not say which
  // one it was built with.
  kRefused,
  // Exported, but the vendor's table says not to use it.
  kDisabled,
};

// Newest signature revision that this host knows.
inline constexpr uint32_t kDiopiRevision = 1;

// An operator library that is open. It stays open until the process ends.
// Immutable, so any thread may use it.
class OperatorLibrary {
 public:
  struct Options {
    // Absolute path of the operator library.
    std::string path;
    // Absolute path of libdipu_diopi_rt.so. It is made global first, so that
    // the operator library finds the DIOPI runtime functions.
    std::string runtime_path;
    // Signature revision that the vendor declares; 0 when unknown. The
    // environment variable DIPU_DIOPI_REVISION replaces it. Unknown is taken
    // as 1, with a warning, and functions whose signature is known to have
    // changed are refused.
    uint32_t revision = 0;
    // Names of functions that must not be used, separated by commas.
    std::string disabled_functions;
  };

  // Throws LoadError. Blocks.
  static OperatorLibrary open(const Options& options);

  // What `library` names in its operators table, with the options that the
  // table gives. Throws LoadError, also when there is no such table.
  static OperatorLibrary openFor(const Library& library,
                                 const std::string& runtime_path);

  // Address of a function; null unless its state is kFound. `Function` is its
  // type: get<decltype(diopiAdd)>(Symbol::diopiAdd).
  template <typename Function>
  Function* get(Symbol symbol) const noexcept {
    return reinterpret_cast<Function*>(address(symbol));
  }
  void* address(Symbol symbol) const noexcept {
    return addresses_[static_cast<size_t>(symbol)];
  }
  SymbolState state(Symbol symbol) const noexcept {
    return states_[static_cast<size_t>(symbol)];
  }
  // Number of functions in that state.
  size_t count(SymbolState state) const noexcept;

  const std::string& path() const { return path_; }
  // Signature revision in use, never 0.
  uint32_t revision() const { return revision_; }
  // Whether the library, or the user, has named that revision.
  bool revisionIsDeclared() const { return revision_is_declared_; }
  // What the user should know, one line each. Say it once.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  OperatorLibrary() = default;

  void chooseRevision(uint32_t declared);
  void resolve(void* handle, std::string_view disabled_functions);
  void warnAboutMangledNames();

  std::string path_;
  uint32_t revision_ = 0;
  bool revision_is_declared_ = false;
  std::vector<std::string> warnings_;
  std::array<void*, kSymbolCount> addresses_{};
  std::array<SymbolState, kSymbolCount> states_{};
};

}  // namespace dipu::loader
