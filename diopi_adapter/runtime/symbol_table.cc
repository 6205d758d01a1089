// SPDX-License-Identifier: Apache-2.0
#include "diopi_adapter/runtime/symbol_table.h"

namespace dipu::adapter {

namespace detail {
constinit SymbolTable g_symbols;
}  // namespace detail

namespace {

std::vector<SymbolReport>& report() {
  // Not destroyed: it may be read while the interpreter shuts down.
  static auto* const lines = new std::vector<SymbolReport>;
  return *lines;
}

template <typename Function>
void fill(const loader::OperatorLibrary& library, loader::Symbol symbol,
          Function& slot) {
  slot = reinterpret_cast<Function>(library.address(symbol));
  report().push_back({loader::symbolName(symbol), library.state(symbol)});
}

}  // namespace

void fillSymbolTable(const loader::OperatorLibrary& library) {
  report().clear();
  report().reserve(loader::kSymbolCount);
#define DIOPI_SYMBOL(name) \
  fill(library, loader::Symbol::name, detail::g_symbols.name);
#include <diopi/symbols.inc>
}

const std::vector<SymbolReport>& symbolReport() { return report(); }

const char* toString(loader::SymbolState state) noexcept {
  switch (state) {
    case loader::SymbolState::kFound:
      return "found";
    case loader::SymbolState::kMissing:
      return "missing";
    case loader::SymbolState::kMangled:
      return "mangled";
    case loader::SymbolState::kRefused:
      return "refused";
    case loader::SymbolState::kDisabled:
      return "disabled";
  }
  return "missing";
}

}  // namespace dipu::adapter
