// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/random/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "kernels/compute/random/philox.h"
#include "kernels/tests/device_tensor.h"

namespace dipu::kernels {
namespace {

using testing::asDouble;
using testing::DeviceTensor;
using testing::TestQueue;

constexpr int64_t kCount = 200001;

TEST(PhiloxTest, KnownAnswer) {
  // The published vector for counter 0 and key 0.
  uint32_t numbers[4];
  philox::fillNumbers(0, 0, 4, numbers);
  EXPECT_EQ(numbers[0], 0x6627e8d5U);
  EXPECT_EQ(numbers[1], 0xe169c58dU);
  EXPECT_EQ(numbers[2], 0xbc57ac4cU);
  EXPECT_EQ(numbers[3], 0x9b00dbd8U);
}

TEST(PhiloxTest, AnyPartOfTheSequence) {
  uint32_t all[200];
  uint32_t part[101];
  philox::fillNumbers(7, 0, 200, all);
  philox::fillNumbers(7, 40, 101, part);
  EXPECT_TRUE(std::equal(part, part + 101, all + 40));
}

struct Moments {
  double mean = 0;
  double variance = 0;

  template <typename T>
  explicit Moments(const std::vector<T>& values) {
    for (T value : values) mean += asDouble(value) / double(values.size());
    for (T value : values) {
      const double d = asDouble(value) - mean;
      variance += d * d / double(values.size());
    }
  }
};

template <typename T>
class RandomTest : public ::testing::Test {};
using FloatTypes = ::testing::Types<float, double, Float16, BFloat16>;
TYPED_TEST_SUITE(RandomTest, FloatTypes);

TYPED_TEST(RandomTest, Uniform) {
  using T = TypeParam;
  TestQueue queue;
  RandomSource source(1, 0);
  const DeviceTensor<T> out({kCount}, T(0.0F));
  ASSERT_EQ(uniform(queue, out.view(), 0.0, 1.0, &source), Status::kOk);
  const auto values = out.read();
  const Moments moments(values);
  EXPECT_NEAR(moments.mean, 0.5, 0.01);
  EXPECT_NEAR(moments.variance, 1.0 / 12, 0.002);
  for (T value : values) {
    ASSERT_GE(asDouble(value), 0.0);
    ASSERT_LT(asDouble(value), 1.0);
  }
  // Numbers used, rounded up to a block.
  EXPECT_EQ(source.offset(), sizeof(T) == 8 ? 400004U : 200004U);
}

TYPED_TEST(RandomTest, Normal) {
  using T = TypeParam;
  TestQueue queue;
  RandomSource source(2, 0);
  const DeviceTensor<T> out({kCount}, T(0.0F));
  ASSERT_EQ(normal(queue, out.view(), 3.0, 2.0, &source), Status::kOk);
  const auto values = out.read();
  const Moments moments(values);
  EXPECT_NEAR(moments.mean, 3.0, 0.02);
  EXPECT_NEAR(moments.variance, 4.0, 0.06);
  double fourth = 0;
  double neighbours = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double z = (asDouble(values[i]) - 3.0) / 2.0;
    fourth += z * z * z * z / double(kCount);
    if (i > 0) neighbours += z * (asDouble(values[i - 1]) - 3.0) / 2.0;
  }
  EXPECT_NEAR(fourth, 3.0, 0.15);
  EXPECT_NEAR(neighbours / double(kCount), 0.0, 0.02);
}

TYPED_TEST(RandomTest, DropoutScalesWhatItKeeps) {
  using T = TypeParam;
  TestQueue queue;
  RandomSource source(3, 0);
  const DeviceTensor<T> in({kCount}, T(3.0F));
  const DeviceTensor<T> out({kCount}, T(0.0F));
  const DeviceTensor<uint8_t> mask({kCount}, uint8_t{9});
  TensorView kept = mask.view();
  kept.dtype = DType::kBool;
  ASSERT_EQ(dropout(queue, out.view(), kept, in.view(), 0.25, &source),
            Status::kOk);
  const auto values = out.read();
  const auto flags = mask.read();
  EXPECT_NEAR(Moments(flags).mean, 0.75, 0.005);
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(asDouble(values[i]), flags[i] ? 4.0 : 0.0);
  }
}

TEST(RandomRuleTest, SameSourceSameNumbersInAnyShape) {
  TestQueue queue;
  RandomSource first(5, 8);
  RandomSource second(5, 8);
  const DeviceTensor<float> whole({6000}, 0.0F);
  const DeviceTensor<float> wide =
      DeviceTensor<float>({60, 200}, 0.0F).strided(1, 2);
  uniform(queue, whole.view(), 0, 1, &first);
  uniform(queue, wide.view(), 0, 1, &second);
  EXPECT_EQ(whole.read(), wide.read());
  EXPECT_EQ(first.offset(), 6008U);
  // The next call continues: nothing is drawn twice.
  const DeviceTensor<float> next({6000}, 0.0F);
  uniform(queue, next.view(), 0, 1, &first);
  EXPECT_NE(whole.read(), next.read());
}

TEST(RandomRuleTest, PartsOfTheSequenceJoin) {
  TestQueue queue;
  RandomSource one(5, 0);
  RandomSource two(5, 0);
  const DeviceTensor<float> whole({4096}, 0.0F);
  const DeviceTensor<float> low({1024}, 0.0F);
  const DeviceTensor<float> high({3072}, 0.0F);
  normal(queue, whole.view(), 0, 1, &one);
  normal(queue, low.view(), 0, 1, &two);
  normal(queue, high.view(), 0, 1, &two);
  auto joined = low.read();
  const auto rest = high.read();
  joined.insert(joined.end(), rest.begin(), rest.end());
  EXPECT_EQ(whole.read(), joined);
}

TEST(BernoulliTest, ScalarAndTensorChances) {
  TestQueue queue;
  RandomSource source(4, 0);
  const DeviceTensor<int64_t> out({kCount}, int64_t{7});
  bernoulli(queue, out.view(), 0.3, &source);
  EXPECT_NEAR(Moments(out.read()).mean, 0.3, 0.005);
  bernoulli(queue, out.view(), 1.0, &source);
  for (int64_t value : out.read()) ASSERT_EQ(value, 1);
  bernoulli(queue, out.view(), 0.0, &source);
  for (int64_t value : out.read()) ASSERT_EQ(value, 0);
  const DeviceTensor<float> chances({4}, {0.0F, 1.0F, 0.0F, 1.0F});
  const DeviceTensor<float> four({4}, 5.0F);
  bernoulliOf(queue, four.view(), chances.view(), &source);
  EXPECT_EQ(four.read(), chances.read());
  EXPECT_EQ(bernoulli(queue, out.view(), 1.5, &source), Status::kInvalid);
}

TEST(BernoulliTest, NamesWhatIsNoProbability) {
  for (const float wrong : {-0.25F, 1.5F, NAN}) {
    TestQueue queue;
    std::vector<float> values(5000, 1.0F);
    values[3210] = wrong;
    const DeviceTensor<float> p({5000}, values);
    const DeviceTensor<float> out({5000}, 0.0F);
    RandomSource source(3, 0);
    ASSERT_EQ(bernoulliOf(queue, out.view(), p.view(), &source), Status::kOk);
    EXPECT_EQ(queue.wait(), SOFT_LAUNCH_FAILURE);
    EXPECT_NE(std::string(soft_last_message()).find("element 3210 of"),
              std::string::npos);
    soft_device_reset(0);
  }
}

TEST(RandomIntegersTest, EveryValueIsAsLikely) {
  TestQueue queue;
  RandomSource source(6, 0);
  const DeviceTensor<int32_t> out({kCount}, 0);
  randomIntegers(queue, out.view(), -3, 10, &source);
  std::vector<int64_t> seen(10, 0);
  for (int32_t value : out.read()) ++seen.at(value + 3);
  for (int64_t count : seen) EXPECT_NEAR(double(count), kCount / 10.0, 800);
}

TEST(RandomIntegersTest, WideRanges) {
  TestQueue queue;
  RandomSource source(6, 0);
  const DeviceTensor<int64_t> out({kCount}, int64_t{0});
  randomIntegers(queue, out.view(), -(int64_t{1} << 62), uint64_t{1} << 63,
                 &source);
  auto values = out.read();
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  EXPECT_LT(*low, -(int64_t{1} << 61));
  EXPECT_GT(*high, int64_t{1} << 61);
  EXPECT_GE(*low, -(int64_t{1} << 62));
}

TEST(PermutationTest, HoldsEveryValueOnce) {
  TestQueue queue;
  RandomSource source(7, 0);
  const DeviceTensor<int32_t> out({1000}, 0);
  ASSERT_EQ(randomPermutation(queue, out.view(), &source), Status::kOk);
  auto values = out.read();
  std::vector<int32_t> sorted(1000);
  std::iota(sorted.begin(), sorted.end(), 0);
  EXPECT_NE(values, sorted);
  std::sort(values.begin(), values.end());
  EXPECT_EQ(values, sorted);
}

TEST(MultinomialTest, FollowsTheWeights) {
  TestQueue queue;
  RandomSource source(8, 0);
  const DeviceTensor<float> weights({2, 4}, {1, 0, 3, 6, 0, 0, 1, 0});
  const DeviceTensor<int64_t> out({2, 100000}, int64_t{-1});
  ASSERT_EQ(multinomial(queue, out.view(), weights.view(), true, &source),
            Status::kOk);
  std::vector<double> share(4, 0.0);
  const auto values = out.read();
  for (int i = 0; i < 100000; ++i) {
    share.at(values[i]) += 1e-5;
    ASSERT_EQ(values[100000 + i], 2);
  }
  EXPECT_NEAR(share[0], 0.1, 0.01);
  EXPECT_EQ(share[1], 0.0);
  EXPECT_NEAR(share[3], 0.6, 0.01);
}

TEST(MultinomialTest, WithoutReplacementDrawsDifferentOnes) {
  TestQueue queue;
  RandomSource source(9, 0);
  const DeviceTensor<float> weights({4}, {1, 0, 3, 6});
  const DeviceTensor<int64_t> out({3}, int64_t{-1});
  double last_first = 0;
  for (int i = 0; i < 2000; ++i) {
    multinomial(queue, out.view(), weights.view(), false, &source);
    auto values = out.read();
    last_first += values[0] == 3 ? 1.0 / 2000 : 0.0;
    std::sort(values.begin(), values.end());
    ASSERT_EQ(values, (std::vector<int64_t>{0, 2, 3}));
  }
  EXPECT_NEAR(last_first, 0.6, 0.05);
}

}  // namespace
}  // namespace dipu::kernels
