// SPDX-License-Identifier: Apache-2.0
//
// What the functions of a vendor cannot take, as the vendor's data file says.
#pragma once

#include <diopi/diopirt.h>

#include <array>
#include <cstddef>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

namespace dipu::conversion {

// A mistake in the file; the text is "file:line: reason".
class RulesError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// What one function takes instead of what it lacks. Immutable.
class Rule {
 public:
  Rule();

  // The type to give instead of `type`, which is `type` itself where the
  // function takes it. Any code is accepted.
  diopiDtype_t typeFor(diopiDtype_t type) const noexcept;
  // The type of which `type` is the replacement, `type` itself if of none; of
  // several the last in the order of DIOPI's codes.
  diopiDtype_t replacedBy(diopiDtype_t type) const noexcept;
  // Tensors must be contiguous in the order of their dimensions.
  bool contiguous() const noexcept { return contiguous_; }

 private:
  friend class RulesParser;
  static constexpr std::size_t kTypes = diopi_dtype_complex128 + 1;

  std::array<diopiDtype_t, kTypes> types_;
  bool contiguous_ = false;
};

// Whether a function does the conversions, so that it can have no rule.
bool convertsTensors(std::string_view function) noexcept;

// The rules of a vendor, by the name of the function ("diopiAdd").
using Rules = std::map<std::string, Rule, std::less<>>;

// Parses the text of diopi_conversions.tsv, which
// diopi_adapter/codegen/conversions.py writes: a line per function with its
// name, "int64=int32,float64=float32" (may be empty) and "contiguous" (may be
// empty), separated by tabs. Lines that begin with # are comments. `source`
// names the file in messages. Throws RulesError.
Rules parseRules(std::string_view text, const std::string& source);

}  // namespace dipu::conversion
