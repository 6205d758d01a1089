// SPDX-License-Identifier: Apache-2.0
#include "tests/cts/verdict.h"

#include <gtest/gtest.h>

namespace dipu::cts {
namespace {

using Lines = std::vector<std::string>;

TEST(Verdict, ACleanRunHasNoComplaints) {
  EXPECT_TRUE(complaints({{"A.a"}, {}}, {}).empty());
}

TEST(Verdict, AnExpectedFailureIsNoComplaint) {
  EXPECT_TRUE(complaints({{"A.a"}, {"A.b"}}, {{"A.b", "bug 7"}}).empty());
}

TEST(Verdict, OtherFailuresAre) {
  EXPECT_EQ(complaints({{}, {"A.a", "A.b"}}, {{"A.b", "bug 7"}}),
            Lines{"A.a failed"});
}

TEST(Verdict, AnUnexpectedPassIs) {
  EXPECT_EQ(complaints({{"A.b"}, {}}, {{"A.b", "bug 7"}}),
            Lines{"A.b passed but is listed as an expected failure (bug 7); "
                  "remove it from the list"});
}

TEST(Verdict, ATestThatIsGoneIs) {
  EXPECT_EQ(complaints({{"A.a"}, {}}, {{"A.old", "bug 7"}}).size(), 1u);
}

}  // namespace
}  // namespace dipu::cts
