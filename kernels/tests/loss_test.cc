// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "kernels/compute/loss/nll_loss.h"
#include "kernels/compute/loss/pair_loss.h"
#include "kernels/tests/device_tensor.h"

namespace dipu::kernels {
namespace {

using testing::DeviceTensor;
using testing::randomTensor;
using testing::TestQueue;

double pairReference(PairLossKind kind, double x, double t, double p) {
  const double d = std::abs(x - t);
  switch (kind) {
    case PairLossKind::kSquared:
      return d * d;
    case PairLossKind::kSmoothL1:
      return d < 0.5 ? d * d : d - 0.25;  // beta 0.5
    case PairLossKind::kHuber:
      return d <= 0.5 ? 0.5 * d * d : 0.5 * (d - 0.25);  // delta 0.5
    case PairLossKind::kBinaryEntropy:
      return -t * std::log(x) - (1 - t) * std::log(1 - x);
    default: {
      const double s = 1 / (1 + std::exp(-x));
      return -p * t * std::log(s) - (1 - t) * std::log(1 - s);
    }
  }
}

const PairLossKind kKinds[] = {
    PairLossKind::kSquared, PairLossKind::kSmoothL1, PairLossKind::kHuber,
    PairLossKind::kBinaryEntropy, PairLossKind::kBinaryEntropyLogits};

// Inputs and targets that every kind accepts: between 0 and 1.
struct PairCase {
  DeviceTensor<double> x, t, w, p;

  PairCase() : x(positive(1)), t(positive(2)), w(positive(3)), p(positive(4)) {}

  static DeviceTensor<double> positive(uint32_t seed) {
    auto values = testing::randomValues<double>(60, seed);
    for (double& value : values) value = 0.5 + 0.49 * value;
    return DeviceTensor<double>({6, 10}, values);
  }

  PairLossArguments arguments(PairLossKind kind, Reduction reduction) const {
    PairLossArguments a{};
    a.kind = kind;
    a.reduction = reduction;
    a.beta = 0.5;
    a.input = x.view();
    a.target = t.view();
    a.weight = w.view();
    a.pos_weight = p.view();
    return a;
  }
  double expected(PairLossKind kind, std::size_t i, double x_value) const {
    return pairReference(kind, x_value, t.read()[i], p.read()[i]) * w.read()[i];
  }
};

TEST(PairLossTest, EveryKindAndReduction) {
  TestQueue queue;
  const PairCase c;
  for (PairLossKind kind : kKinds) {
    const DeviceTensor<double> each({6, 10}, NAN);
    const DeviceTensor<double> sum({}, NAN);
    const DeviceTensor<double> mean({}, NAN);
    pairLoss(queue, each.view(), c.arguments(kind, Reduction::kNone));
    pairLoss(queue, sum.view(), c.arguments(kind, Reduction::kSum));
    pairLoss(queue, mean.view(), c.arguments(kind, Reduction::kMean));
    double total = 0;
    const auto x = c.x.read();
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double expected = c.expected(kind, i, x[i]);
      EXPECT_NEAR(each.read()[i], expected, 1e-12);
      total += expected;
    }
    EXPECT_NEAR(sum.read()[0], total, 1e-11);
    EXPECT_NEAR(mean.read()[0], total / 60, 1e-12);
  }
}

TEST(PairLossTest, GradientIsTheDerivative) {
  TestQueue queue;
  const PairCase c;
  const DeviceTensor<double> g({}, 3.0);
  for (PairLossKind kind : kKinds) {
    const DeviceTensor<double> dx({6, 10}, NAN);
    ASSERT_EQ(pairLossBackward(queue, dx.view(), g.view(),
                               c.arguments(kind, Reduction::kMean)),
              Status::kOk);
    const auto x = c.x.read();
    for (std::size_t i = 0; i < x.size(); ++i) {
      constexpr double kStep = 1e-6;
      const double slope = (c.expected(kind, i, x[i] + kStep) -
                            c.expected(kind, i, x[i] - kStep)) /
                           (2 * kStep);
      EXPECT_NEAR(dx.read()[i], 3.0 * slope / 60, 1e-7);
    }
  }
}

TEST(PairLossTest, MeanOfNothingIsNan) {
  TestQueue queue;
  const DeviceTensor<float> empty({0}, 0.0F);
  const DeviceTensor<float> out({}, 0.0F);
  PairLossArguments a{};
  a.kind = PairLossKind::kSquared;
  a.reduction = Reduction::kMean;
  a.input = a.target = empty.view();
  ASSERT_EQ(pairLoss(queue, out.view(), a), Status::kOk);
  EXPECT_TRUE(std::isnan(out.read()[0]));
}

// The ends are probabilities, numbers beyond them and NaN are not.
TEST(PairLossTest, InputsThatAreNoProbabilitiesFailOnTheDevice) {
  for (const float wrong : {0.0F, 1.0F, -0.25F, 1.5F, NAN}) {
    TestQueue queue;
    std::vector<float> values(10000, 0.5F);
    values[7777] = wrong;
    const DeviceTensor<float> x({100, 100}, values);
    const DeviceTensor<float> out({}, 0.0F);
    PairLossArguments a{};
    a.kind = PairLossKind::kBinaryEntropy;
    a.reduction = Reduction::kMean;
    a.input = a.target = x.view();
    ASSERT_EQ(pairLoss(queue, out.view(), a), Status::kOk);
    if (wrong == 0.0F || wrong == 1.0F) {
      EXPECT_EQ(queue.wait(), SOFT_OK);
      continue;
    }
    EXPECT_EQ(queue.wait(), SOFT_LAUNCH_FAILURE);
    EXPECT_NE(std::string(soft_last_message()).find("element 7777 is "),
              std::string::npos)
        << soft_last_message();
    soft_device_reset(0);
  }
}

TEST(PairLossTest, SixteenBitsAreComputedInFloat) {
  TestQueue queue;
  const DeviceTensor<BFloat16> x({1000}, BFloat16(1.0F));
  const DeviceTensor<BFloat16> t({1000}, BFloat16(0.0F));
  const DeviceTensor<BFloat16> out({}, BFloat16(0.0F));
  PairLossArguments a{};
  a.kind = PairLossKind::kSquared;
  a.reduction = Reduction::kSum;
  a.input = x.view();
  a.target = t.view();
  pairLoss(queue, out.view(), a);
  // A sum in bfloat16 itself would stop at 256.
  EXPECT_EQ(testing::asDouble(out.read()[0]), 1000.0);
}

// Two samples of three classes at two pixels; -100 counts nothing.
struct NllCase {
  DeviceTensor<float> x = randomTensor<float>({2, 3, 2}, 1);
  DeviceTensor<int64_t> target{{2, 2}, std::vector<int64_t>{0, 2, -100, 1}};
  DeviceTensor<float> weight{{3}, std::vector<float>{0.5F, 1.0F, 2.0F}};

  NllArguments arguments(Reduction reduction) const {
    return {x.view(), target.view(), weight.view(), reduction, -100};
  }
  // Offsets of the chosen elements and their weights.
  static constexpr int64_t kChosen[3] = {0, 5, 9};
  static constexpr double kWeights[3] = {0.5, 2.0, 1.0};
};

TEST(NllLossTest, Reductions) {
  TestQueue queue;
  const NllCase c;
  const DeviceTensor<float> each({2, 2}, NAN);
  const DeviceTensor<float> sum({}, NAN);
  const DeviceTensor<float> mean({}, NAN);
  const DeviceTensor<float> total({}, NAN);
  nllLoss(queue, each.view(), total.view(), c.arguments(Reduction::kNone));
  nllLoss(queue, sum.view(), total.view(), c.arguments(Reduction::kSum));
  nllLoss(queue, mean.view(), total.view(), c.arguments(Reduction::kMean));
  double expected = 0;
  const int64_t places[] = {0, 1, 3};
  for (int i = 0; i < 3; ++i) {
    const double loss = -c.kWeights[i] * c.x.read()[c.kChosen[i]];
    EXPECT_NEAR(each.read()[places[i]], loss, 1e-6);
    expected += loss;
  }
  EXPECT_EQ(each.read()[2], 0.0F);
  EXPECT_NEAR(sum.read()[0], expected, 1e-6);
  EXPECT_NEAR(mean.read()[0], expected / 3.5, 1e-6);
  EXPECT_EQ(total.read()[0], 3.5F);
}

TEST(NllLossTest, GradientReachesChosenElementsOnly) {
  TestQueue queue;
  const NllCase c;
  const DeviceTensor<float> g({}, 7.0F);
  const DeviceTensor<float> total({}, 3.5F);
  for (bool given : {true, false}) {
    const DeviceTensor<float> dx({2, 3, 2}, NAN);
    ASSERT_EQ(nllLossBackward(queue, dx.view(), g.view(),
                              given ? total.view() : TensorView(),
                              c.arguments(Reduction::kMean)),
              Status::kOk);
    std::vector<float> expected(12, 0.0F);
    for (int i = 0; i < 3; ++i) {
      expected[c.kChosen[i]] = static_cast<float>(-c.kWeights[i] * 7.0 / 3.5);
    }
    EXPECT_EQ(dx.read(), expected);
  }
}

TEST(NllLossTest, TargetsOutOfRangeFailOnTheDevice) {
  const DeviceTensor<float> out({}, 0.0F);
  const DeviceTensor<float> x({1, 3}, 0.0F);
  const DeviceTensor<int64_t> target({1}, int64_t{3});
  TestQueue queue;
  ASSERT_EQ(
      nllLoss(queue, out.view(), TensorView(),
              {x.view(), target.view(), TensorView(), Reduction::kMean, -100}),
      Status::kOk);
  EXPECT_EQ(queue.wait(), SOFT_LAUNCH_FAILURE);
  soft_device_reset(0);
}

TEST(NllLossTest, RefusesWrongArguments) {
  TestQueue queue;
  const NllCase c;
  const DeviceTensor<float> out({}, 0.0F);
  NllArguments a = c.arguments(Reduction::kMean);
  a.target = c.weight.view();
  EXPECT_EQ(nllLoss(queue, out.view(), TensorView(), a), Status::kInvalid);
}

}  // namespace
}  // namespace dipu::kernels
