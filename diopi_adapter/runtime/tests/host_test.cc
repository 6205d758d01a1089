// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "core/random/generator.h"
#include "diopi_adapter/runtime/call.h"

namespace dipu::adapter {
namespace {

TEST(RuntimeHostTest, SeedAndOffsetAreSetTogetherOrNotAtAll) {
  random::PhiloxGeneratorImpl generator(0);
  auto* handle = reinterpret_cast<diopiGeneratorHandle_t>(&generator);
  const auto set = runtimeHost().generator_set_seed_and_offset;
  EXPECT_EQ(set(handle, 7, 8), diopiSuccess);
  EXPECT_EQ(set(handle, 9, 3), diopiErrorOccurred) << "not a multiple of 4";
  EXPECT_EQ(generator.current_seed(), 7u);
  EXPECT_EQ(generator.get_offset(), 8u);
}

}  // namespace
}  // namespace dipu::adapter
