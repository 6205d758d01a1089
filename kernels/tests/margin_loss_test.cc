// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/loss/margin_loss.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/tests/device_tensor.h"

namespace dipu::kernels {
namespace {

using testing::DeviceTensor;
using testing::randomTensor;
using testing::TestQueue;

constexpr int64_t kSamples = 5;
constexpr int64_t kClasses = 7;

struct MultiMargin {
  DeviceTensor<double> x = randomTensor<double>({kSamples, kClasses}, 1);
  DeviceTensor<int64_t> t{{kSamples}, {0, 3, 6, 2, 2}};
  DeviceTensor<double> w = randomTensor<double>({kClasses}, 2);

  MultiMarginArguments arguments(int64_t p, Reduction reduction) const {
    return {x.view(), t.view(), w.view(), 0.75, p, reduction};
  }
  double expected(const std::vector<double>& values, std::size_t i,
                  int64_t p) const {
    const auto target = static_cast<std::size_t>(t.read()[i]);
    double sum = 0;
    for (std::size_t c = 0; c < kClasses; ++c) {
      if (c == target) continue;
      const double z =
          0.75 - values[i * kClasses + target] + values[i * kClasses + c];
      if (z > 0) sum += std::pow(z, p);
    }
    return sum * w.read()[target] / kClasses;
  }
};

TEST(MultiMarginLossTest, EveryReduction) {
  TestQueue queue;
  const MultiMargin c;
  for (const int64_t p : {1, 2}) {
    const DeviceTensor<double> each({kSamples}, NAN);
    const DeviceTensor<double> mean({}, NAN);
    multiMarginLoss(queue, each.view(), c.arguments(p, Reduction::kNone));
    multiMarginLoss(queue, mean.view(), c.arguments(p, Reduction::kMean));
    double total = 0;
    for (std::size_t i = 0; i < kSamples; ++i) {
      const double expected = c.expected(c.x.read(), i, p);
      EXPECT_NEAR(each.read()[i], expected, 1e-12);
      total += expected;
    }
    EXPECT_NEAR(mean.read()[0], total / kSamples, 1e-12);
  }
}

TEST(MultiMarginLossTest, GradientIsTheDerivative) {
  TestQueue queue;
  const MultiMargin c;
  const auto g = randomTensor<double>({kSamples}, 3);
  const auto x = c.x.read();
  for (const int64_t p : {1, 2}) {
    const DeviceTensor<double> grad({kSamples, kClasses}, NAN);
    multiMarginLossBackward(queue, grad.view(), g.view(),
                            c.arguments(p, Reduction::kNone));
    for (std::size_t k = 0; k < x.size(); ++k) {
      auto above = x;
      auto below = x;
      above[k] += 1e-6;
      below[k] -= 1e-6;
      const std::size_t i = k / kClasses;
      const double slope =
          (c.expected(above, i, p) - c.expected(below, i, p)) / 2e-6;
      EXPECT_NEAR(grad.read()[k], slope * g.read()[i], 1e-7);
    }
  }
}

TEST(MultiMarginLossTest, RefusesWhatMakesNoSense) {
  TestQueue queue;
  const MultiMargin c;
  const DeviceTensor<double> out({}, NAN);
  EXPECT_EQ(
      multiMarginLoss(queue, out.view(), c.arguments(3, Reduction::kMean)),
      Status::kInvalid);
  MultiMarginArguments a = c.arguments(1, Reduction::kMean);
  a.target = DeviceTensor<int64_t>({2}, int64_t{0}).view();
  EXPECT_EQ(multiMarginLoss(queue, out.view(), a), Status::kInvalid);
}

double labelExpected(const std::vector<double>& x, std::size_t row,
                     const std::vector<int64_t>& targets) {
  double sum = 0;
  for (const int64_t t : targets) {
    for (std::size_t c = 0; c < 4; ++c) {
      bool other = true;
      for (const int64_t u : targets) other = other && std::size_t(u) != c;
      if (!other) continue;
      const double z = 1 - x[row * 4 + std::size_t(t)] + x[row * 4 + c];
      sum += std::max(0.0, z);
    }
  }
  return sum / 4;
}

TEST(MultiLabelMarginLossTest, ListsEndWithANegativeNumber) {
  TestQueue queue;
  const auto x = randomTensor<double>({2, 4}, 1);
  const DeviceTensor<int64_t> t({2, 4}, {3, 0, -1, 1, 2, -1, 0, 0});
  const std::vector<std::vector<int64_t>> lists{{3, 0}, {2}};
  const DeviceTensor<double> out({2}, NAN);
  const DeviceTensor<double> marks({2, 4}, NAN);
  const DeviceTensor<double> grad({2, 4}, NAN);
  const DeviceTensor<double> g({2}, {1.0, 2.0});
  const MultiLabelMarginArguments a{x.view(), t.view(), Reduction::kNone};
  multiLabelMarginLoss(queue, out.view(), marks.view(), a);
  multiLabelMarginLossBackward(queue, grad.view(), g.view(), marks.view(), a);
  EXPECT_EQ(marks.read(), (std::vector<double>{1, 0, 0, 1, 0, 0, 1, 0}));
  for (std::size_t row = 0; row < 2; ++row) {
    EXPECT_NEAR(out.read()[row], labelExpected(x.read(), row, lists[row]),
                1e-12);
  }
  for (std::size_t k = 0; k < 8; ++k) {
    auto above = x.read();
    auto below = x.read();
    above[k] += 1e-6;
    below[k] -= 1e-6;
    const double slope = (labelExpected(above, k / 4, lists[k / 4]) -
                          labelExpected(below, k / 4, lists[k / 4])) /
                         2e-6;
    EXPECT_NEAR(grad.read()[k], slope * g.read()[k / 4], 1e-7);
  }
}

}  // namespace
}  // namespace dipu::kernels
