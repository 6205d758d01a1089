// SPDX-License-Identifier: Apache-2.0
//
// Puts conversions between the adapter and the vendor's functions.
#pragma once

#include "diopi_adapter/conversion/rules.h"
#include "diopi_adapter/runtime/symbol_table.h"

namespace dipu::conversion {

// Replaces, in `table`, every function that has a rule by one that converts its
// arguments. A function without one is called as before, so a vendor without
// rules pays nothing. `checked`: see Function. Call it once, before operators
// run; the rules are copied and kept for ever.
void convertFunctions(const Rules& rules, bool checked,
                      adapter::SymbolTable& table);

}  // namespace dipu::conversion
