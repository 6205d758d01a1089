// SPDX-License-Identifier: Apache-2.0
#include "tests/cts/verdict.h"

#include <set>
#include <string>
#include <vector>

namespace dipu::cts {

std::vector<std::string> complaints(
    const Outcome& outcome, const std::vector<Exemption>& expected_failures) {
  std::vector<std::string> lines;
  std::set<std::string> unexpected = outcome.failed;
  for (const Exemption& expected : expected_failures) {
    if (unexpected.erase(expected.test) != 0) continue;
    const bool has_passed = outcome.passed.count(expected.test) != 0;
    lines.push_back(expected.test + (has_passed ? " passed" : " did not run") +
                    " but is listed as an expected failure (" +
                    expected.reason + "); remove it from the list");
  }
  for (const std::string& test : unexpected) lines.push_back(test + " failed");
  return lines;
}

}  // namespace dipu::cts
