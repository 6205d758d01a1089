// SPDX-License-Identifier: Apache-2.0
//
// Puts alerts between the adapter and the vendor's functions.
//
// Note [Determinism]
// Whether an operator repeats its results is a property of the vendor's
// library, so the vendor lists the functions that do not. While
// torch.use_deterministic_algorithms(True) holds, a call of a listed function
// raises PyTorch's exception, or warns with warn_only=True, before anything is
// enqueued. Only listed functions test whether it holds; all others are called
// as before. What runs on the CPU is alerted by PyTorch's own kernels.
#pragma once

#include <string>

#include "diopi_adapter/determinism/alerts.h"
#include "diopi_adapter/runtime/symbol_table.h"

namespace dipu::determinism {

// Replaces, in `table`, every function that has an alert by one that gives it.
// `vendor`: its name for messages. Call it once, before operators run; the
// alerts are copied and kept for ever.
void alertFunctions(const Alerts& alerts, const std::string& vendor,
                    adapter::SymbolTable& table);

}  // namespace dipu::determinism
