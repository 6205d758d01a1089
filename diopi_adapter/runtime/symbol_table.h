// SPDX-License-Identifier: Apache-2.0
//
// The vendor's operator library as a table of typed function pointers.
//
// Every DIOPI function is looked up once, when the vendor is loaded. A slot is
// null when the library lacks the function or when it must not be used; the
// operators that need it are then not registered for the device and run on the
// CPU, so that no call tests for it.
#pragma once

#include <diopi/functions.h>
#include <diopi/functions_ext.h>
#include <diopi/functions_lmdeploy.h>
#include <diopi/functions_mmcv.h>
#include <diopi/functions_sparse.h>

#include <functional>
#include <string>
#include <vector>

namespace dipu::adapter {

struct SymbolTable {
#define DIOPI_SYMBOL(name) decltype(&::name) name = nullptr;
#include <diopi/symbols.inc>
};

namespace detail {
extern SymbolTable g_symbols;
}  // namespace detail

// The table of this process. Written by fillSymbolTable only.
inline const SymbolTable& symbols() { return detail::g_symbols; }

// What is known of one DIOPI function.
enum class SymbolState {
  kFound,
  kMissing,
  kMangled,   // present under a C++ name only; `detail` is that name
  kRefused,   // present, but of another signature revision
  kDisabled,  // present, but the vendor asks not to use it
};

struct SymbolInfo {
  void* address = nullptr;  // null unless kFound
  SymbolState state = SymbolState::kMissing;
  std::string detail;  // for people: why it is not used; may be empty
};

using SymbolResolver = std::function<SymbolInfo(const char* name)>;

// Fills the table. Call once, before any operator is registered; not safe
// while operators run.
void fillSymbolTable(const SymbolResolver& resolve);

// One line of torch_dipu.ops_report().
struct SymbolReport {
  const char* name;
  SymbolState state;
  std::string detail;
};

// All DIOPI functions in the order of symbols.inc; empty before the table is
// filled. Any thread, once it is filled.
const std::vector<SymbolReport>& symbolReport();

// "found", "missing", "mangled", "refused" or "disabled".
const char* toString(SymbolState state) noexcept;

}  // namespace dipu::adapter
