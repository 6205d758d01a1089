// SPDX-License-Identifier: Apache-2.0
//
// Whether a run is as the vendor's lists say.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "tests/cts/backend.h"

namespace dipu::cts {

// Names of tests, as "Suite.Name".
struct Outcome {
  std::set<std::string> passed;
  std::set<std::string> failed;
};

// One line for each test that failed without being expected to, that passed
// although it is expected to fail, or that is expected to fail and did not run.
// Empty means success.
std::vector<std::string> complaints(
    const Outcome& outcome, const std::vector<Exemption>& expected_failures);

}  // namespace dipu::cts
