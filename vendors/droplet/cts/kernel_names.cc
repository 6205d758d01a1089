// SPDX-License-Identifier: Apache-2.0
//
// In every sample, each kernel bears the name of the DIOPI function that was
// called.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "softdevice/soft_debug.h"

namespace {

std::vector<soft_counter> readCounters() {
  std::size_t count = 0;
  soft_counters_read(nullptr, 0, &count);
  std::vector<soft_counter> counters(count);
  soft_counters_read(counters.data(), count, &count);
  return counters;
}

std::string functionOf(const ::testing::TestInfo& test) {
  const ::testing::TestResult& result = *test.result();
  for (int i = 0; i < result.test_property_count(); ++i) {
    const ::testing::TestProperty& property = result.GetTestProperty(i);
    if (std::string(property.key()) == "function") return property.value();
  }
  return "";
}

class KernelNames : public ::testing::EmptyTestEventListener {
 public:
  void OnTestProgramStart(const ::testing::UnitTest&) override {
    EXPECT_EQ(soft_counters_start(), SOFT_OK);
  }
  void OnTestStart(const ::testing::TestInfo&) override {
    soft_counters_reset();
  }
  void OnTestEnd(const ::testing::TestInfo& test) override {
    const std::vector<soft_counter> counters = readCounters();
    EXPECT_FALSE(counters.empty()) << "no kernel has run";
    for (const soft_counter& counter : counters) {
      EXPECT_EQ(counter.name, functionOf(test));
    }
  }
};

// GoogleTest owns its listeners.
const bool kListening = [] {
  ::testing::UnitTest::GetInstance()->listeners().Append(new KernelNames);
  return true;
}();

}  // namespace
