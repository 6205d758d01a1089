// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/loss/cross_entropy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/tests/device_tensor.h"

namespace dipu::kernels {
namespace {

using testing::DeviceTensor;
using testing::randomTensor;
using testing::TestQueue;

constexpr std::size_t kClasses = 4;
const std::vector<int64_t> kTargets{2, 0, -100, 3};

// Weighted mean over the targets that count; classes are contiguous.
double expectedLoss(const std::vector<double>& x,
                    const std::vector<double>& weight) {
  double total = 0;
  double weights = 0;
  for (std::size_t i = 0; i < kTargets.size(); ++i) {
    if (kTargets[i] < 0) continue;
    double sum = 0;
    for (std::size_t c = 0; c < kClasses; ++c) {
      sum += std::exp(x[i * kClasses + c]);
    }
    const auto t = static_cast<std::size_t>(kTargets[i]);
    total -= weight[t] * (x[i * kClasses + t] - std::log(sum));
    weights += weight[t];
  }
  return total / weights;
}

TEST(CrossEntropyTest, LossAndGradient) {
  TestQueue queue;
  const auto x = randomTensor<double>({4, 4}, 1);
  const DeviceTensor<double> weight({4}, {1.0, 2.0, 0.5, 3.0});
  const DeviceTensor<int64_t> target({4}, kTargets);
  const DeviceTensor<double> out({}, NAN);
  const DeviceTensor<double> grad({4, 4}, NAN);
  const DeviceTensor<double> g({}, 2.0);
  const NllArguments a{x.view(), target.view(), weight.view(), Reduction::kMean,
                       -100};
  ASSERT_EQ(crossEntropy(queue, out.view(), a), Status::kOk);
  ASSERT_EQ(crossEntropyBackward(queue, grad.view(), g.view(), a), Status::kOk);
  EXPECT_NEAR(out.read()[0], expectedLoss(x.read(), weight.read()), 1e-12);
  for (std::size_t k = 0; k < 16; ++k) {
    auto above = x.read();
    auto below = x.read();
    above[k] += 1e-6;
    below[k] -= 1e-6;
    const double slope = (expectedLoss(above, weight.read()) -
                          expectedLoss(below, weight.read())) /
                         2e-6;
    EXPECT_NEAR(grad.read()[k], 2 * slope, 1e-7);
  }
}

TEST(CrossEntropyTest, ClassesOfImages) {
  TestQueue queue;
  const DeviceTensor<float> x({1, 2, 2}, {1.0F, 5.0F, 3.0F, 5.0F});
  const DeviceTensor<int64_t> target({1, 2}, {0, 1});
  const DeviceTensor<float> out({1, 2}, NAN);
  crossEntropy(queue, out.view(),
               {x.view(), target.view(), TensorView(), Reduction::kNone, -100});
  EXPECT_NEAR(out.read()[0], std::log1p(std::exp(2.0)), 1e-6);
  EXPECT_NEAR(out.read()[1], std::log(2.0), 1e-6);
}

}  // namespace
}  // namespace dipu::kernels
