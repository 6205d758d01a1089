// SPDX-License-Identifier: Apache-2.0
//
// The functions that headers declare, for tests that must not miss any.
#pragma once

#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

namespace dipu::softdevice {

// The words before the next parenthesis after each `mark`, such as "SOFT_API ",
// that begin with `prefix`. Missing files declare nothing.
inline std::set<std::string> declaredFunctions(
    const std::vector<std::string>& headers, const std::string& mark,
    const std::string& prefix) {
  std::set<std::string> names;
  for (const std::string& header : headers) {
    std::ifstream file(header);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    for (auto at = text.find(mark); at != std::string::npos;
         at = text.find(mark, at + 1)) {
      const auto end = text.find('(', at);
      const auto begin = text.find_last_of(" *\n", end) + 1;
      const std::string name = text.substr(begin, end - begin);
      if (name.rfind(prefix, 0) == 0) names.insert(name);
    }
  }
  return names;
}

}  // namespace dipu::softdevice
