// SPDX-License-Identifier: Apache-2.0
//
// Runs the suite and compares what failed with what the vendor expects to fail.
#include <gtest/gtest.h>

#include <cstdio>
#include <set>
#include <string>

#include "tests/cts/backend.h"

namespace dipu::cts {
namespace {

// Collects the names of tests that failed, and of all that ran.
class Recorder : public ::testing::EmptyTestEventListener {
 public:
  void OnTestEnd(const ::testing::TestInfo& info) override {
    const std::string name =
        std::string(info.test_suite_name()) + "." + info.name();
    if (info.result()->Failed()) failed.insert(name);
    if (!info.result()->Skipped()) ran.insert(name);
  }

  std::set<std::string> failed;
  std::set<std::string> ran;
};

int run() {
  auto* recorder = new Recorder;  // owned by the listener list
  ::testing::UnitTest::GetInstance()->listeners().Append(recorder);
  const int status = RUN_ALL_TESTS();
  if (backend().expected_failures.empty()) return status;
  std::set<std::string> unexpected = recorder->failed;
  bool passed = !recorder->ran.empty();
  for (const Exemption& expected : backend().expected_failures) {
    unexpected.erase(expected.test);
    const bool did_pass = recorder->ran.count(expected.test) != 0 &&
                          recorder->failed.count(expected.test) == 0;
    if (did_pass) {
      std::printf(
          "%s passed, but is listed as an expected failure (%s): "
          "remove it from the list\n",
          expected.test.c_str(), expected.reason.c_str());
      passed = false;
    }
  }
  for (const std::string& test : unexpected) {
    std::printf("%s failed unexpectedly\n", test.c_str());
  }
  return passed && unexpected.empty() ? 0 : 1;
}

}  // namespace
}  // namespace dipu::cts

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  return dipu::cts::run();
}
