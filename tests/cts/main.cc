// SPDX-License-Identifier: Apache-2.0
//
// Runs the suite and compares what failed with what the vendor expects to fail.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "tests/cts/backend.h"
#include "tests/cts/verdict.h"

namespace dipu::cts {
namespace {

class Recorder : public ::testing::EmptyTestEventListener {
 public:
  explicit Recorder(Outcome* outcome) : outcome_(outcome) {}

  void OnTestEnd(const ::testing::TestInfo& info) override {
    const std::string name =
        std::string(info.test_suite_name()) + "." + info.name();
    if (info.result()->Failed()) outcome_->failed.insert(name);
    if (info.result()->Passed()) outcome_->passed.insert(name);
  }

 private:
  Outcome* outcome_;
};

int run() {
  Outcome outcome;
  // The list of listeners owns it.
  ::testing::UnitTest::GetInstance()->listeners().Append(
      new Recorder(&outcome));
  const int status = RUN_ALL_TESTS();
  // A filter picks single tests by hand; the lists describe whole runs.
  const bool is_filtered = GTEST_FLAG_GET(filter) != "*";
  if (is_filtered || backend().expected_failures.empty()) return status;
  const auto lines = complaints(outcome, backend().expected_failures);
  for (const std::string& line : lines) std::printf("%s\n", line.c_str());
  return lines.empty() ? 0 : 1;
}

}  // namespace
}  // namespace dipu::cts

#ifdef __SANITIZE_THREAD__
// The C library makes a thread's variables of an opened library when the thread
// first uses them, and frees them when the stack goes to another thread. The
// sanitizer does not see that the two threads take turns.
extern "C" const char* __tsan_default_suppressions() {
  return "race:_dl_deallocate_tls\n";
}
#endif

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  return dipu::cts::run();
}
