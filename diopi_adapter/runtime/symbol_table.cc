// SPDX-License-Identifier: Apache-2.0
#include "diopi_adapter/runtime/symbol_table.h"

#include <utility>

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
void fill(const SymbolResolver& resolve, const char* name, Function& slot) {
  SymbolInfo info = resolve(name);
  slot = info.state == SymbolState::kFound
             ? reinterpret_cast<Function>(info.address)
             : nullptr;
  report().push_back({name, info.state, std::move(info.detail)});
}

}  // namespace

void fillSymbolTable(const SymbolResolver& resolve) {
  report().clear();
#define DIOPI_SYMBOL(name) fill(resolve, #name, detail::g_symbols.name);
#include <diopi/symbols.inc>
}

const std::vector<SymbolReport>& symbolReport() { return report(); }

const char* toString(SymbolState state) noexcept {
  switch (state) {
    case SymbolState::kFound: return "found";
    case SymbolState::kMissing: return "missing";
    case SymbolState::kMangled: return "mangled";
    case SymbolState::kRefused: return "refused";
    case SymbolState::kDisabled: return "disabled";
  }
  return "missing";
}

}  // namespace dipu::adapter
