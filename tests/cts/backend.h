// SPDX-License-Identifier: Apache-2.0
//
// What the conformance suite must know about a vendor. Each vendor defines
// backend() in its cts/backend.cc and links the suite.
#pragma once

#include <string>
#include <vector>

namespace dipu::cts {

// A test that does not apply, or does not pass yet, and why.
struct Exemption {
  std::string test;  // "Suite.Name"
  std::string reason;
};

struct Backend {
  // The vendor library, relative to the root of the workspace.
  std::string plugin;
  // Devices that must be there; fewer is a failure, not a skipped test.
  int min_devices = 1;
  // Skipped for good.
  std::vector<Exemption> unsupported;
  // Must fail; one that passes fails the run, so that the list stays true.
  std::vector<Exemption> expected_failures;
};

const Backend& backend();

}  // namespace dipu::cts
