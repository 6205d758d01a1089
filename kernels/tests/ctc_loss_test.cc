// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/loss/ctc_loss.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/tests/device_tensor.h"

namespace dipu::kernels {
namespace {

using testing::DeviceTensor;
using testing::TestQueue;

constexpr int64_t kSteps = 4;
constexpr int64_t kClasses = 3;  // 0 is the blank

// What is left of a path without repetitions and blanks.
std::vector<int64_t> collapsed(int64_t path, int64_t steps) {
  std::vector<int64_t> labels;
  int64_t before = 0;
  for (int64_t t = 0; t < steps; ++t, path /= kClasses) {
    const int64_t c = path % kClasses;
    if (c != 0 && c != before) labels.push_back(c);
    before = c;
  }
  return labels;
}

// The loss of sample `i` of two, by summing over all paths.
double expectedLoss(const std::vector<double>& log_probs, int64_t i,
                    int64_t steps, const std::vector<int64_t>& labels) {
  double total = 0;
  for (int64_t path = 0; path < std::pow(kClasses, steps); ++path) {
    if (collapsed(path, steps) != labels) continue;
    double sum = 0;
    int64_t rest = path;
    for (int64_t t = 0; t < steps; ++t, rest /= kClasses) {
      sum += log_probs[std::size_t((t * 2 + i) * kClasses + rest % kClasses)];
    }
    total += std::exp(sum);
  }
  return -std::log(total);
}

class CtcLoss : public ::testing::Test {
 protected:
  CtcLoss() {
    for (std::size_t row = 0; row < 2 * kSteps; ++row) {
      double total = 0;
      for (std::size_t c = 0; c < kClasses; ++c) {
        total += std::exp(values_[row * kClasses + c]);
      }
      for (std::size_t c = 0; c < kClasses; ++c) {
        values_[row * kClasses + c] -= std::log(total);
      }
    }
    log_probs_ = DeviceTensor<double>({kSteps, 2, kClasses}, values_);
  }

  CtcArguments arguments() const {
    return {log_probs_.view(), targets_.view(), inputs_.view(), labels_.view(),
            0};
  }

  std::vector<double> values_ =
      testing::randomValues<double>(kSteps * 2 * kClasses, 1);
  DeviceTensor<double> log_probs_{{1}, 0.0};
  DeviceTensor<int32_t> targets_{{2, 2}, {1, 1, 2, 0}};
  DeviceTensor<int64_t> inputs_{{2}, {4, 3}};
  DeviceTensor<int64_t> labels_{{2}, {2, 1}};
  DeviceTensor<double> losses_{{2}, NAN};
  DeviceTensor<double> alphas_{{2, kSteps, 5}, NAN};
};

TEST_F(CtcLoss, SumsOverAllAlignments) {
  TestQueue queue;
  ASSERT_EQ(ctcLoss(queue, losses_.view(), alphas_.view(), arguments()),
            Status::kOk);
  EXPECT_NEAR(losses_.read()[0], expectedLoss(values_, 0, 4, {1, 1}), 1e-12);
  EXPECT_NEAR(losses_.read()[1], expectedLoss(values_, 1, 3, {2}), 1e-12);
}

// By theory the gradient, taken through the softmax before it, is the
// probability minus the share of the alignments through a class.
TEST_F(CtcLoss, GradientIsThatOfTheScores) {
  TestQueue queue;
  const DeviceTensor<double> grad({kSteps, 2, kClasses}, NAN);
  const DeviceTensor<double> g({2}, {1.0, 2.0});
  ctcLoss(queue, losses_.view(), alphas_.view(), arguments());
  ctcLossBackward(queue, grad.view(), g.view(), losses_.view(), alphas_.view(),
                  arguments(), Reduction::kNone, false);
  for (std::size_t k = 0; k < values_.size(); ++k) {
    const auto t = static_cast<int64_t>(k) / kClasses / 2;
    const auto i = static_cast<int64_t>(k) / kClasses % 2;
    const std::vector<int64_t> labels =
        i == 0 ? std::vector<int64_t>{1, 1} : std::vector<int64_t>{2};
    const int64_t steps = i == 0 ? 4 : 3;
    if (t >= steps) {
      EXPECT_EQ(grad.read()[k], 0.0);
      continue;
    }
    auto above = values_;
    auto below = values_;
    above[k] += 1e-6;
    below[k] -= 1e-6;
    const double slope = (expectedLoss(above, i, steps, labels) -
                          expectedLoss(below, i, steps, labels)) /
                         2e-6;
    const double expected = (slope + std::exp(values_[k])) * (i == 0 ? 1 : 2);
    EXPECT_NEAR(grad.read()[k], expected, 1e-7);
  }
}

TEST_F(CtcLoss, MeansDivideByTheLengthOfTheTarget) {
  TestQueue queue;
  const DeviceTensor<double> mean({}, NAN);
  const DeviceTensor<double> grad({kSteps, 2, kClasses}, NAN);
  const DeviceTensor<double> expected({kSteps, 2, kClasses}, NAN);
  ctcLoss(queue, losses_.view(), alphas_.view(), arguments());
  ctcReduce(queue, mean.view(), losses_.view(), labels_.view(),
            Reduction::kMean, false);
  EXPECT_NEAR(mean.read()[0], (losses_.read()[0] / 2 + losses_.read()[1]) / 2,
              1e-12);
  const DeviceTensor<double> g({}, 3.0);
  const DeviceTensor<double> each({2}, {0.75, 1.5});
  ctcLossBackward(queue, grad.view(), g.view(), losses_.view(), alphas_.view(),
                  arguments(), Reduction::kMean, false);
  ctcLossBackward(queue, expected.view(), each.view(), losses_.view(),
                  alphas_.view(), arguments(), Reduction::kNone, false);
  for (std::size_t k = 0; k < grad.read().size(); ++k) {
    EXPECT_NEAR(grad.read()[k], expected.read()[k], 1e-12);
  }
}

TEST_F(CtcLoss, ImpossibleTargetsAreInfiniteOrZero) {
  TestQueue queue;
  inputs_ = DeviceTensor<int64_t>({2}, {2, 3});  // 1 1 needs three steps
  const DeviceTensor<double> grad({kSteps, 2, kClasses}, NAN);
  const DeviceTensor<double> g({2}, 1.0);
  const DeviceTensor<double> mean({}, NAN);
  ctcLoss(queue, losses_.view(), alphas_.view(), arguments());
  EXPECT_EQ(losses_.read()[0], INFINITY);
  ctcLossBackward(queue, grad.view(), g.view(), losses_.view(), alphas_.view(),
                  arguments(), Reduction::kNone, true);
  EXPECT_EQ(grad.read()[0], 0.0);
  ctcReduce(queue, mean.view(), losses_.view(), labels_.view(),
            Reduction::kMean, true);
  EXPECT_NEAR(mean.read()[0], losses_.read()[1] / 2, 1e-12);
}

}  // namespace
}  // namespace dipu::kernels
