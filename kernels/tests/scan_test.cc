// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/scan.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/tests/device_tensor.h"

namespace dipu::kernels {
namespace {

using testing::DeviceTensor;
using testing::randomTensor;
using testing::TestQueue;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

TEST(Scan, SumsAndMultipliesAlongADimension) {
  TestQueue queue;
  const DeviceTensor<int32_t> x({2, 3}, {1, 2, 3, 4, 5, 6});
  const DeviceTensor<int64_t> out({2, 3}, int64_t{0});
  ASSERT_EQ(cumsum(queue, out.view(), x.view(), 1), Status::kOk);
  EXPECT_EQ(out.read(), (std::vector<int64_t>{1, 3, 6, 4, 9, 15}));
  ASSERT_EQ(cumsum(queue, out.view(), x.view(), 0), Status::kOk);
  EXPECT_EQ(out.read(), (std::vector<int64_t>{1, 2, 3, 5, 7, 9}));
  ASSERT_EQ(cumprod(queue, out.view(), x.view(), -1), Status::kOk);
  EXPECT_EQ(out.read(), (std::vector<int64_t>{1, 2, 6, 4, 20, 120}));
  EXPECT_EQ(cumprod(queue, out.view(), x.view(), 2), Status::kInvalid);
}

TEST(Scan, RoundsSmallFloatsOnceForEachElement) {
  TestQueue queue;
  constexpr int64_t kCount = 1000;
  const DeviceTensor<BFloat16> x({kCount}, BFloat16(0.01f));
  const DeviceTensor<BFloat16> out({kCount}, BFloat16(0.0f));
  ASSERT_EQ(cumsum(queue, out.view(), x.view(), 0), Status::kOk);
  const double step = static_cast<float>(BFloat16(0.01f));
  EXPECT_EQ(out.read()[kCount - 1].bits,
            BFloat16(static_cast<float>(step * kCount)).bits);
}

TEST(Scan, KeepsLogarithmsOfSumsFinite) {
  TestQueue queue;
  const DeviceTensor<float> x({4}, {1000, 1000, -kInf, 999});
  const DeviceTensor<float> out({4}, 0.0f);
  ASSERT_EQ(logCumsumExp(queue, out.view(), x.view(), 0), Status::kOk);
  const auto values = out.read();
  EXPECT_FLOAT_EQ(values[1], static_cast<float>(1000 + std::log(2.0)));
  EXPECT_EQ(values[1], values[2]);
  EXPECT_FLOAT_EQ(values[3],
                  static_cast<float>(1000 + std::log(2 + std::exp(-1.0))));
  const DeviceTensor<int64_t> integers({4}, int64_t{0});
  EXPECT_EQ(logCumsumExp(queue, integers.view(), integers.view(), 0),
            Status::kUnsupported);
}

TEST(Scan, SpreadsNaNAndInfinitiesThroughLogarithms) {
  TestQueue queue;
  const DeviceTensor<float> x({2, 2}, {-kInf, -kInf, kInf, kNaN});
  const DeviceTensor<float> out({2, 2}, 0.0f);
  ASSERT_EQ(logCumsumExp(queue, out.view(), x.view(), 1), Status::kOk);
  const auto values = out.read();
  EXPECT_EQ(values[0], -kInf);
  EXPECT_EQ(values[1], -kInf);
  EXPECT_EQ(values[2], kInf);
  EXPECT_TRUE(std::isnan(values[3]));
}

TEST(Scan, TellsTheLastPositionOfAnExtreme) {
  TestQueue queue;
  const DeviceTensor<int32_t> x({6}, {1, 3, 3, 2, 4, 0});
  const DeviceTensor<int32_t> values({6}, 0);
  const DeviceTensor<int64_t> indices({6}, int64_t{0});
  ASSERT_EQ(cumExtreme(queue, Running::kMax, values.view(), indices.view(),
                       x.view(), 0),
            Status::kOk);
  EXPECT_EQ(values.read(), (std::vector<int32_t>{1, 3, 3, 3, 4, 4}));
  EXPECT_EQ(indices.read(), (std::vector<int64_t>{0, 1, 2, 2, 4, 4}));
  ASSERT_EQ(cumExtreme(queue, Running::kMin, values.view(), indices.view(),
                       x.view(), 0),
            Status::kOk);
  EXPECT_EQ(values.read(), (std::vector<int32_t>{1, 1, 1, 1, 1, 0}));
  EXPECT_EQ(indices.read(), (std::vector<int64_t>{0, 0, 0, 0, 0, 5}));
}

TEST(Scan, LetsNaNWinRunningExtremes) {
  TestQueue queue;
  const DeviceTensor<float> x({4}, {1, kNaN, 5, kNaN});
  const DeviceTensor<float> values({4}, 0.0f);
  const DeviceTensor<int64_t> indices({4}, int64_t{0});
  ASSERT_EQ(cumExtreme(queue, Running::kMax, values.view(), indices.view(),
                       x.view(), 0),
            Status::kOk);
  EXPECT_TRUE(std::isnan(values.read()[2]));
  EXPECT_EQ(indices.read(), (std::vector<int64_t>{0, 1, 1, 3}));
}

TEST(Scan, TakesLinesOfAnyStrides) {
  TestQueue queue;
  const auto x = randomTensor<float>({300, 40}, 1);
  const DeviceTensor<float> out({40, 300}, 0.0f);
  ASSERT_EQ(cumsum(queue, out.view(), x.transposed(0, 1).view(), 1),
            Status::kOk);
  const auto values = x.read();
  const auto sums = out.read();
  for (std::size_t j = 0; j < 40; ++j) {
    double total = 0;
    for (std::size_t i = 0; i < 300; ++i) {
      total += values[i * 40 + j];
      ASSERT_NEAR(sums[j * 300 + i], total, 1e-5);
    }
  }
}

}  // namespace
}  // namespace dipu::kernels
