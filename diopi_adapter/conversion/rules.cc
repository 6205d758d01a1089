// SPDX-License-Identifier: Apache-2.0
#include "diopi_adapter/conversion/rules.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "diopi_adapter/abi/function_names.h"

namespace dipu::conversion {
namespace {

enum class Kind : uint8_t { kInteger, kFloating };

struct TypeName {
  std::string_view name;
  diopiDtype_t type;
  Kind kind;
};

// The types of which a vendor may lack one, and by which it may be replaced: by
// one of the same kind.
constexpr TypeName kTypeNames[] = {
    {"int8", diopi_dtype_int8, Kind::kInteger},
    {"uint8", diopi_dtype_uint8, Kind::kInteger},
    {"int16", diopi_dtype_int16, Kind::kInteger},
    {"int32", diopi_dtype_int32, Kind::kInteger},
    {"int64", diopi_dtype_int64, Kind::kInteger},
    {"float16", diopi_dtype_float16, Kind::kFloating},
    {"float32", diopi_dtype_float32, Kind::kFloating},
    {"float64", diopi_dtype_float64, Kind::kFloating},
    {"bool", diopi_dtype_bool, Kind::kInteger},
    {"bfloat16", diopi_dtype_bfloat16, Kind::kFloating},
};

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

bool convertsTensors(std::string_view function) noexcept {
  return function == "diopiCastDtype" || function == "diopiCopyInp";
}

Rule::Rule() {
  for (std::size_t i = 0; i < kTypes; ++i) {
    types_[i] = static_cast<diopiDtype_t>(i);
  }
}

diopiDtype_t Rule::typeFor(diopiDtype_t type) const noexcept {
  const auto code = static_cast<std::size_t>(type);
  return code < kTypes ? types_[code] : type;
}

diopiDtype_t Rule::replacedBy(diopiDtype_t type) const noexcept {
  for (std::size_t i = kTypes; i-- > 0;) {
    const auto candidate = static_cast<diopiDtype_t>(i);
    if (candidate != type && types_[i] == type) return candidate;
  }
  return type;
}

class RulesParser {
 public:
  explicit RulesParser(const std::string& source) : source_(source) {}

  Rules parse(std::string_view text) {
    Rules rules;
    for (const std::string_view line : split(text, '\n')) {
      ++line_;
      if (line.empty() || line.front() == '#') continue;
      const auto fields = split(line, '\t');
      if (fields.size() != 3 || fields[0].empty()) {
        refuse(
            "a line has the function, its types and its layout, separated "
            "by tabs");
      }
      checkFunction(fields[0]);
      if (!rules.emplace(fields[0], ruleOf(fields[1], fields[2])).second) {
        refuse(std::string(fields[0]) + " has a line already");
      }
    }
    return rules;
  }

 private:
  void checkFunction(std::string_view name) const {
    if (!diopi::isFunction(name)) {
      refuse("no function is called '" + std::string(name) + "'");
    }
    if (convertsTensors(name)) {
      refuse(std::string(name) +
             " does the conversions and cannot be converted");
    }
  }

  Rule ruleOf(std::string_view types, std::string_view layout) const {
    Rule rule;
    if (!types.empty()) {
      for (const std::string_view pair : split(types, ',')) {
        const auto sides = split(pair, '=');
        if (sides.size() != 2) {
          refuse("'" + std::string(pair) + "' is not of the form int64=int32");
        }
        const TypeName& lacked = typeNamed(sides[0]);
        const TypeName& taken = typeNamed(sides[1]);
        if (lacked.kind != taken.kind) {
          refuse("'" + std::string(pair) +
                 "' mixes integers and floating point numbers");
        }
        rule.types_[lacked.type] = taken.type;
      }
    }
    if (!layout.empty() && layout != "contiguous") {
      refuse("layout '" + std::string(layout) + "' is not 'contiguous'");
    }
    rule.contiguous_ = !layout.empty();
    return rule;
  }

  const TypeName& typeNamed(std::string_view name) const {
    const auto* const found =
        std::find_if(std::begin(kTypeNames), std::end(kTypeNames),
                     [&](const TypeName& known) { return known.name == name; });
    if (found == std::end(kTypeNames)) {
      refuse("no type is called '" + std::string(name) + "'");
    }
    return *found;
  }

  [[noreturn]] void refuse(const std::string& reason) const {
    throw RulesError(source_ + ":" + std::to_string(line_) + ": " + reason);
  }

  const std::string& source_;
  int line_ = 0;
};

Rules parseRules(std::string_view text, const std::string& source) {
  return RulesParser(source).parse(text);
}

}  // namespace dipu::conversion
