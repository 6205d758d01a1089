// SPDX-License-Identifier: Apache-2.0
#include "core/random/generator.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>

#include <thread>
#include <vector>

#include "tests/unit/core/testing.h"

namespace dipu::random {
namespace {

using testing::contains;
using testing::messageOf;
using Range = std::pair<uint64_t, uint64_t>;

using GeneratorTest = testing::FakeVendorTest;

TEST_F(GeneratorTest, ReservesDisjointRangesOfFours) {
  PhiloxGeneratorImpl generator(0);
  generator.set_current_seed(7);
  EXPECT_EQ(generator.reserve(5), Range(7, 0));
  EXPECT_EQ(generator.reserve(4), Range(7, 8));
  EXPECT_EQ(generator.reserve(0), Range(7, 12));
  EXPECT_EQ(generator.get_offset(), 12);
}

TEST_F(GeneratorTest, SeedingStartsOver) {
  PhiloxGeneratorImpl generator(0);
  EXPECT_EQ(generator.current_seed(), c10::default_rng_seed_val);
  generator.reserve(100);
  generator.set_current_seed(3);
  EXPECT_EQ(generator.get_offset(), 0);
  const uint64_t drawn = generator.seed();
  EXPECT_EQ(generator.current_seed(), drawn);
  EXPECT_NE(generator.seed(), generator.seed());
}

TEST_F(GeneratorTest, StateIsSeedAndOffset) {
  at::Generator generator = newGenerator(1);
  generator.set_current_seed(0x0102030405060708);
  generator.get<PhiloxGeneratorImpl>()->reserve(8);
  const at::Tensor state = generator.get_state();
  ASSERT_EQ(state.scalar_type(), at::kByte);
  ASSERT_EQ(state.numel(), 16);
  const auto* words = static_cast<const uint64_t*>(state.const_data_ptr());
  EXPECT_EQ(words[0], 0x0102030405060708);
  EXPECT_EQ(words[1], 8);

  at::Generator other = newGenerator(1);
  other.set_state(state);
  EXPECT_EQ(other.current_seed(), generator.current_seed());
  EXPECT_EQ(other.get_offset(), 8);
}

TEST_F(GeneratorTest, RefusesWrongStates) {
  at::Generator generator = newGenerator(0);
  const at::Tensor longer(at::detail::empty_cpu({5056}, at::kByte, std::nullopt,
                                                std::nullopt, std::nullopt,
                                                std::nullopt)
                              .getIntrusivePtr());
  EXPECT_TRUE(contains(messageOf([&] { generator.set_state(longer); }),
                       "the state of a dipu generator has 16 bytes (seed and "
                       "offset), not 5056"));
  EXPECT_THROW(generator.set_offset(3), c10::ValueError);
}

TEST_F(GeneratorTest, CloneIsIndependent) {
  at::Generator generator = newGenerator(1);
  generator.set_current_seed(11);
  generator.set_offset(20);
  at::Generator copy = generator.clone();
  generator.set_current_seed(12);
  EXPECT_EQ(copy.current_seed(), 11);
  EXPECT_EQ(copy.get_offset(), 20);
  EXPECT_EQ(copy.device(), c10::Device(runtime::kDeviceType, 1));
}

TEST_F(GeneratorTest, DefaultIsOnePerDevice) {
  EXPECT_EQ(defaultGenerator(1), defaultGenerator(1));
  EXPECT_NE(defaultGenerator(0), defaultGenerator(1));
  EXPECT_EQ(defaultGenerator(), defaultGenerator(0));
  const auto& hooks = at::detail::getPrivateUse1Hooks();
  EXPECT_EQ(hooks.getDefaultGenerator(1), defaultGenerator(1));
  EXPECT_NE(hooks.getNewGenerator(1), defaultGenerator(1));
  EXPECT_THROW(defaultGenerator(4), c10::Error);
}

TEST_F(GeneratorTest, OperatorsDrawFromTheGivenOne) {
  at::Generator generator = newGenerator(0);
  generator.set_current_seed(5);
  EXPECT_EQ(reserve(generator, 0, 1), Range(5, 0));
  EXPECT_EQ(&generatorFor(std::nullopt, 1),
            defaultGenerator(1).get<PhiloxGeneratorImpl>());
}

TEST_F(GeneratorTest, ConcurrentReservationsDoNotOverlap) {
  at::Generator generator = newGenerator(0);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 1000; ++j) reserve(generator, 0, 4);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(generator.get_offset(), 16000);
}

}  // namespace
}  // namespace dipu::random
