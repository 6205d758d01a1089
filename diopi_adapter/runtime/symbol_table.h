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
#include <diopi/functions_dipu.h>
#include <diopi/functions_ext.h>
#include <diopi/functions_lmdeploy.h>
#include <diopi/functions_mmcv.h>
#include <diopi/functions_sparse.h>

#include <vector>

#include "core/loader/operator_library.h"

namespace dipu::adapter {

struct SymbolTable {
#define DIOPI_SYMBOL(name) decltype(&::name) name = nullptr;
#include <diopi/symbols.inc>
};

namespace detail {
extern SymbolTable g_symbols;
}  // namespace detail

// The table of this process. Written while a vendor is loaded only.
inline const SymbolTable& symbols() { return detail::g_symbols; }

// Fills the table from `library`, which stays open for ever. Call once, before
// any operator is registered; not safe while operators run.
void fillSymbolTable(const loader::OperatorLibrary& library);

// One line of torch_dipu.ops_report().
struct SymbolReport {
  const char* name;
  loader::SymbolState state;
};

// All DIOPI functions in the order of symbols.inc; empty before the table is
// filled. Any thread, once it is filled.
const std::vector<SymbolReport>& symbolReport();

// "found", "missing", "mangled", "refused" or "disabled".
const char* toString(loader::SymbolState state) noexcept;

}  // namespace dipu::adapter
