// SPDX-License-Identifier: Apache-2.0
//
// What becomes of the exceptions of a team.
#include "kernels/compute/parallel.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "softdevice/softdevice.h"

namespace dipu::kernels {
namespace {

// Runs `work` as a task and returns the text of the failure it leaves.
std::string failureOf(void (*work)(void*)) {
  soft_stream* stream = nullptr;
  EXPECT_EQ(soft_stream_get_default(0, &stream), SOFT_OK);
  EXPECT_EQ(soft_launch(stream, work, nullptr, 0), SOFT_OK);
  EXPECT_EQ(soft_stream_synchronize(stream), SOFT_LAUNCH_FAILURE);
  std::string text = soft_last_message();
  EXPECT_EQ(soft_device_reset(0), SOFT_OK);
  return text;
}

constexpr char kUnknown[] = "threw something that is not a std::exception";

TEST(ParallelTest, AnExceptionFailsTheTask) {
  const std::string text = failureOf([](void*) {
    parallelFor(1 << 20, 1, [](int64_t, int64_t) {
      throw std::runtime_error("out of ideas");
    });
  });
  EXPECT_NE(text.find("out of ideas"), std::string::npos) << text;
}

TEST(ParallelTest, SoDoesAnythingElseThatIsThrown) {
  const std::string text = failureOf([](void*) {
    parallelFor(1 << 20, 1, [](int64_t, int64_t) { throw 1; });
  });
  EXPECT_NE(text.find(kUnknown), std::string::npos) << text;
}

}  // namespace
}  // namespace dipu::kernels
