// SPDX-License-Identifier: Apache-2.0
//
// Which functions of a vendor may give other results when they are called again
// with the same arguments, as the vendor's data file says.
#pragma once

#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

namespace dipu::determinism {

// A mistake in the file; the text is "file:line: reason".
class TableError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Alert {
  // In words, such as "adds in the order in which threads come".
  std::string reason;
  // Calls without floating-point tensors repeat, as sums of integers do in any
  // order.
  bool floating_only = false;
};

// By the name of the function ("diopiCumsum").
using Alerts = std::map<std::string, Alert, std::less<>>;

// Parses the text of diopi_nondeterministic.tsv, which
// diopi_adapter/codegen/nondeterministic.py writes: a line per function with
// its name, "any" or "floating", and the reason, separated by tabs. Lines that
// begin with # are comments. `source` names the file in messages. Throws
// TableError.
Alerts parseAlerts(std::string_view text, const std::string& source);

}  // namespace dipu::determinism
