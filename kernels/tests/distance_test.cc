// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/distance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/compute/renorm.h"
#include "kernels/tests/device_tensor.h"

namespace dipu::kernels {
namespace {

using testing::DeviceTensor;
using testing::randomTensor;
using testing::TestQueue;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNorms[] = {0.0, 0.5, 1.0, 1.5, 2.0, 3.0, kInfinity};
constexpr int64_t kWidth = 4;

double distanceOf(const double* a, const double* b, double p) {
  double sum = 0;
  for (int64_t k = 0; k < kWidth; ++k) {
    const double d = std::abs(a[k] - b[k]);
    if (std::isinf(p)) {
      sum = std::max(sum, d);
    } else {
      sum += p == 0 ? (d != 0) : std::pow(d, p);
    }
  }
  return p == 0 || std::isinf(p) ? sum : std::pow(sum, 1 / p);
}

TEST(DistanceTest, CdistBroadcastsBatches) {
  TestQueue queue;
  const auto a = randomTensor<double>({2, 1, 3, kWidth}, 1);
  const auto b = randomTensor<double>({3, 2, kWidth}, 2);
  const auto x = a.read();
  const auto y = b.read();
  for (const double p : kNorms) {
    const DeviceTensor<double> out({2, 3, 3, 2}, NAN);
    ASSERT_EQ(cdist(queue, out.view(), a.view(), b.view(), p), Status::kOk);
    const auto result = out.read();
    for (std::size_t k = 0; k < result.size(); ++k) {
      const std::size_t row = k / 18 * 3 + k / 2 % 3;
      const std::size_t other = k / 6 % 3 * 2 + k % 2;
      EXPECT_NEAR(result[k],
                  distanceOf(&x[row * kWidth], &y[other * kWidth], p), 1e-9);
    }
  }
  const DeviceTensor<double> out({2, 3, 3, 2}, NAN);
  EXPECT_EQ(cdist(queue, out.view(), a.view(), b.view(), -1.0),
            Status::kInvalid);
}

TEST(DistanceTest, CdistGradientIsTheDerivative) {
  TestQueue queue;
  const auto a = randomTensor<double>({3, kWidth}, 1);
  const auto b = randomTensor<double>({5, kWidth}, 2);
  const auto g = randomTensor<double>({3, 5}, 3);
  const auto y = b.read();
  for (const double p : kNorms) {
    const DeviceTensor<double> distances({3, 5}, NAN);
    const DeviceTensor<double> grad({3, kWidth}, NAN);
    cdist(queue, distances.view(), a.view(), b.view(), p);
    cdistBackward(queue, grad.view(), g.view(), a.view(), b.view(),
                  distances.view(), p);
    for (std::size_t k = 0; k < 3 * kWidth; ++k) {
      const std::size_t row = k / kWidth;
      auto above = a.read();
      auto below = a.read();
      above[k] += 1e-6;
      below[k] -= 1e-6;
      double slope = 0;
      for (std::size_t j = 0; j < 5; ++j) {
        const double* other = &y[j * kWidth];
        slope += g.read()[row * 5 + j] *
                 (distanceOf(&above[row * kWidth], other, p) -
                  distanceOf(&below[row * kWidth], other, p)) /
                 2e-6;
      }
      EXPECT_NEAR(grad.read()[k], slope, 1e-6) << p;
    }
  }
}

TEST(DistanceTest, PdistTakesEveryPairOnce) {
  TestQueue queue;
  const auto a = randomTensor<double>({4, kWidth}, 1);
  const auto g = randomTensor<double>({6}, 2);
  const auto x = a.read();
  const DeviceTensor<double> out({6}, NAN);
  const DeviceTensor<double> grad({4, kWidth}, NAN);
  const DeviceTensor<double> all({4, 4}, NAN);
  const DeviceTensor<double> expected({4, kWidth}, NAN);
  pdist(queue, out.view(), a.view(), 3.0);
  pdistBackward(queue, grad.view(), g.view(), a.view(), out.view(), 3.0);
  std::vector<double> pair_grads(16, 0.0);
  std::size_t pair = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t j = i + 1; j < 4; ++j, ++pair) {
      EXPECT_NEAR(out.read()[pair],
                  distanceOf(&x[i * kWidth], &x[j * kWidth], 3.0), 1e-12);
      pair_grads[i * 4 + j] = pair_grads[j * 4 + i] = g.read()[pair];
    }
  }
  cdist(queue, all.view(), a.view(), a.view(), 3.0);
  cdistBackward(queue, expected.view(),
                DeviceTensor<double>({4, 4}, pair_grads).view(), a.view(),
                a.view(), all.view(), 3.0);
  for (std::size_t k = 0; k < 4 * kWidth; ++k) {
    EXPECT_NEAR(grad.read()[k], expected.read()[k], 1e-12);
  }
}

TEST(RenormTest, LimitsSlicesOfOneDimension) {
  TestQueue queue;
  const DeviceTensor<float> x({2, 2}, {3.0F, 0.1F, 4.0F, 0.2F});
  const DeviceTensor<float> out({2, 2}, NAN);
  ASSERT_EQ(renorm(queue, out.view(), x.view(), 2.0, 1, 1.0), Status::kOk);
  EXPECT_NEAR(out.read()[0], 0.6F, 1e-6);
  EXPECT_NEAR(out.read()[2], 0.8F, 1e-6);
  EXPECT_EQ(out.read()[1], 0.1F);
  EXPECT_EQ(out.read()[3], 0.2F);
}

TEST(ChannelShuffleTest, DealsChannelsInTurn) {
  TestQueue queue;
  const DeviceTensor<int16_t> x({1, 6, 2},
                                {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  const DeviceTensor<int16_t> out({1, 6, 2}, int16_t{-1});
  ASSERT_EQ(channelShuffle(queue, out.view(), x.view(), 2), Status::kOk);
  EXPECT_EQ(out.read(),
            (std::vector<int16_t>{0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11}));
  EXPECT_EQ(channelShuffle(queue, out.view(), x.view(), 4), Status::kInvalid);
}

}  // namespace
}  // namespace dipu::kernels
