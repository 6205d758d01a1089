// SPDX-License-Identifier: Apache-2.0
#include "diopi_adapter/determinism/alerts.h"

#include <algorithm>

#include "diopi_adapter/abi/function_names.h"

namespace dipu::determinism {
namespace {

// Takes the text before the first `separator`, or all of it, from `text`.
std::string_view takeUntil(char separator, std::string_view& text) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view head = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return head;
}

// Adds the line to `alerts`. Returns what is wrong with it, "" if nothing is.
std::string addLine(std::string_view line, Alerts& alerts) {
  const std::string_view function = takeUntil('\t', line);
  const std::string_view types = takeUntil('\t', line);
  if (function.empty() || line.empty()) {
    return "a line has the function, 'any' or 'floating', and the reason, "
           "separated by tabs";
  }
  const std::string name(function);
  if (!diopi::isFunction(function))
    return "no function is called '" + name + "'";
  if (types != "any" && types != "floating") {
    return "types are 'any' or 'floating', not '" + std::string(types) + "'";
  }
  const Alert alert{std::string(line), types == "floating"};
  if (!alerts.emplace(name, alert).second) return name + " has a line already";
  return "";
}

}  // namespace

Alerts parseAlerts(std::string_view text, const std::string& source) {
  Alerts alerts;
  for (int number = 1; !text.empty(); ++number) {
    const std::string_view line = takeUntil('\n', text);
    if (line.empty() || line.front() == '#') continue;
    const std::string mistake = addLine(line, alerts);
    if (!mistake.empty()) {
      throw TableError(source + ":" + std::to_string(number) + ": " + mistake);
    }
  }
  return alerts;
}

}  // namespace dipu::determinism
