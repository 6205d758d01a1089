// SPDX-License-Identifier: Apache-2.0
#include "vendors/droplet/status.h"

#include <gtest/gtest.h>

#include <string>

#include "core/plugin_kit/error.h"

namespace dipu::vendors::droplet {
namespace {

using plugin_kit::ErrorPtr;

TEST(Status, BothCodesForExhaustionAreOne) {
  EXPECT_EQ(canonicalCode(tangErrorMemoryAllocation), DIPU_RESOURCE_EXHAUSTED);
  EXPECT_EQ(canonicalCode(tangErrorDeviceOutOfMemory), DIPU_RESOURCE_EXHAUSTED);
}

TEST(Status, UnknownCodesStayUnknown) {
  EXPECT_EQ(canonicalCode(tangErrorUnknown), DIPU_UNKNOWN);
  EXPECT_EQ(canonicalCode(static_cast<tangError_t>(4321)), DIPU_UNKNOWN);
}

TEST(Status, SuccessIsNoError) {
  EXPECT_EQ(check(tangSuccess, "tangMalloc"), nullptr);
}

TEST(Status, ErrorsNameCallCodeAndText) {
  const ErrorPtr error(check(tangErrorInvalidDevice, "tangSetDevice(%d)", 7));
  ASSERT_NE(error, nullptr);
  EXPECT_EQ(error->code, DIPU_INVALID_ARGUMENT);
  EXPECT_EQ(error->vendor_code, 101);
  const std::string text = error->message;
  EXPECT_EQ(text.rfind("tangSetDevice(7) failed: ", 0), 0u) << text;
  EXPECT_NE(text.find("tangErrorInvalidDevice"), std::string::npos) << text;
}

}  // namespace
}  // namespace dipu::vendors::droplet
