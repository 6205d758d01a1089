// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/pooling/resample.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "kernels/compute/pooling/padding.h"
#include "kernels/tests/device_tensor.h"

namespace dipu::kernels {
namespace {

using testing::asDouble;
using testing::DeviceTensor;
using testing::randomTensor;
using testing::TestQueue;

template <typename T>
class ResampleTest : public ::testing::Test {};
using FloatTypes = ::testing::Types<float, double, Float16, BFloat16>;
TYPED_TEST_SUITE(ResampleTest, FloatTypes);

TYPED_TEST(ResampleTest, RepeatsTheNearest) {
  using T = TypeParam;
  TestQueue queue;
  const auto x = randomTensor<T>({2, 3, 2, 3}, 1);
  const DeviceTensor<T> y({2, 3, 5, 6}, T(0.0F));
  ASSERT_EQ(resample(queue, y.view(), x.view(), {}), Status::kOk);
  const DeviceTensor<T> g({2, 3, 5, 6}, T(1.0F));
  const DeviceTensor<T> dx({2, 3, 2, 3}, T(0.0F));
  ASSERT_EQ(resampleBackward(queue, dx.view(), g.view(), {}), Status::kOk);
  const auto in = x.read();
  const auto out = y.read();
  std::vector<double> copies(in.size(), 0.0);
  for (int64_t i = 0; i < static_cast<int64_t>(out.size()); ++i) {
    const int64_t h = i % 30 / 6 * 2 / 5;
    const int64_t from = i / 30 * 6 + h * 3 + i % 6 / 2;
    ASSERT_EQ(asDouble(out[i]), asDouble(in[from]));
    copies[from] += 1;
  }
  const auto gradient = dx.read();
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    ASSERT_EQ(asDouble(gradient[i]), copies[i]);
  }
}

TYPED_TEST(ResampleTest, LinearBetweenCorners) {
  using T = TypeParam;
  TestQueue queue;
  ResampleArguments a;
  a.mode = Interpolation::kLinear;
  a.align_corners = true;
  const DeviceTensor<T> x({1, 1, 3}, {T(0.0F), T(2.0F), T(-2.0F)});
  const DeviceTensor<T> y({1, 1, 5}, T(9.0F));
  ASSERT_EQ(resample(queue, y.view(), x.view(), a), Status::kOk);
  const double expected[] = {0, 1, 2, 0, -2};
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(asDouble(y.read()[i]), expected[i]);
  }
}

std::vector<ResampleArguments> allModes() {
  std::vector<ResampleArguments> cases;
  for (auto mode : {Interpolation::kNearest, Interpolation::kNearestExact,
                    Interpolation::kLinear, Interpolation::kCubic}) {
    ResampleArguments a;
    a.mode = mode;
    cases.push_back(a);
    a.scales = {0, 1.7, 0.4};
    cases.push_back(a);
  }
  for (auto mode : {Interpolation::kLinear, Interpolation::kCubic,
                    Interpolation::kLanczos}) {
    ResampleArguments a;
    a.mode = mode;
    a.antialias = true;
    cases.push_back(a);
  }
  return cases;
}

// Row after row, or channels last.
DeviceTensor<double> image(int64_t h, int64_t w, bool last, uint32_t seed) {
  if (!last) return randomTensor<double>({2, 3, h, w}, seed);
  return randomTensor<double>({2, h, w, 3}, seed)
      .transposed(2, 3)
      .transposed(1, 2);
}

double dot(const DeviceTensor<double>& p, const DeviceTensor<double>& q) {
  const auto a = p.read();
  const auto b = q.read();
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// The sum of y * g equals that of x * dx for every linear map.
TEST(ResampleAdjointTest, BackwardIsTheTranspose) {
  TestQueue queue;
  for (const ResampleArguments& a : allModes()) {
    for (bool last : {false, true}) {
      const auto x = image(5, 9, last, 1);
      const auto g = image(8, 4, last, 2);
      const auto y = image(8, 4, last, 3);
      const auto dx = image(5, 9, last, 4);
      ASSERT_EQ(resample(queue, y.view(), x.view(), a), Status::kOk);
      ASSERT_EQ(resampleBackward(queue, dx.view(), g.view(), a), Status::kOk);
      EXPECT_NEAR(dot(y, g), dot(x, dx), 1e-10) << int(a.mode);
    }
  }
}

TEST(ResampleEdgeTest, WeightsAddUpToOne) {
  TestQueue queue;
  for (auto mode : {Interpolation::kLinear, Interpolation::kCubic,
                    Interpolation::kLanczos}) {
    ResampleArguments a;
    a.mode = mode;
    a.antialias = true;
    const DeviceTensor<double> x({1, 1, 11, 7}, 3.0);
    const DeviceTensor<double> y({1, 1, 4, 9}, 0.0);
    ASSERT_EQ(resample(queue, y.view(), x.view(), a), Status::kOk);
    for (double value : y.read()) EXPECT_NEAR(value, 3.0, 1e-12);
  }
}

// A step past all numbers leads to the last element, and none to the first.
TEST(ResampleEdgeTest, StaysInsideForAnyScale) {
  TestQueue queue;
  const DeviceTensor<float> x({1, 1, 3}, {1, 2, 3});
  const DeviceTensor<float> y({1, 1, 4}, 0.0F);
  ResampleArguments a;
  a.scales = {0, 0, 1e-300};
  ASSERT_EQ(resample(queue, y.view(), x.view(), a), Status::kOk);
  EXPECT_EQ(y.read(), (std::vector<float>{1, 3, 3, 3}));
  a.mode = Interpolation::kLinear;
  ASSERT_EQ(resample(queue, y.view(), x.view(), a), Status::kOk);
  EXPECT_EQ(y.read(), (std::vector<float>{3, 3, 3, 3}));
}

TEST(ResampleEdgeTest, RefusesWhatItCannotDo) {
  TestQueue queue;
  const DeviceTensor<float> x({1, 2, 3}, 0.0F);
  const DeviceTensor<float> other({2, 2, 3}, 0.0F);
  const DeviceTensor<int64_t> integers({1, 2, 3}, int64_t{0});
  EXPECT_EQ(resample(queue, other.view(), x.view(), {}), Status::kInvalid);
  EXPECT_EQ(resample(queue, integers.view(), integers.view(), {}),
            Status::kUnsupported);
}

// Pads [1, 4] of 0, 1, 2, 3 and returns the result.
std::vector<int32_t> padded(PadMode mode, std::vector<int64_t> pads) {
  TestQueue queue;
  const DeviceTensor<int32_t> x({1, 4}, {0, 1, 2, 3});
  const DeviceTensor<int32_t> y({1, 4 + pads[0] + pads[1]}, -9);
  PadArguments a;
  a.mode = mode;
  a.pads = pads.data();
  a.count = 2;
  a.value.d = 7;
  EXPECT_EQ(pad(queue, y.view(), x.view(), a), Status::kOk);
  return y.read();
}

TEST(PadTest, EveryMode) {
  using List = std::vector<int32_t>;
  EXPECT_EQ(padded(PadMode::kReflect, {3, 2}),
            (List{3, 2, 1, 0, 1, 2, 3, 2, 1}));
  EXPECT_EQ(padded(PadMode::kReplicate, {2, 1}), (List{0, 0, 0, 1, 2, 3, 3}));
  EXPECT_EQ(padded(PadMode::kCircular, {2, 1}), (List{2, 3, 0, 1, 2, 3, 0}));
  EXPECT_EQ(padded(PadMode::kConstant, {2, 1}), (List{7, 7, 0, 1, 2, 3, 7}));
  EXPECT_EQ(padded(PadMode::kConstant, {-1, 1}), (List{1, 2, 3, 7}));
  EXPECT_EQ(padded(PadMode::kReplicate, {-2, 0}), (List{2, 3}));
}

TEST(PadTest, GradientsAddUp) {
  TestQueue queue;
  const DeviceTensor<float> g({1, 8}, 1.0F);
  const DeviceTensor<float> dx({1, 4}, 0.0F);
  const int64_t pads[] = {3, 1};
  PadArguments a;
  a.mode = PadMode::kReplicate;
  a.pads = pads;
  a.count = 2;
  ASSERT_EQ(padBackward(queue, dx.view(), g.view(), a), Status::kOk);
  EXPECT_EQ(dx.read(), (std::vector<float>{4, 1, 1, 2}));
}

TEST(PadTest, RefusesToMirrorMoreThanThereIs) {
  TestQueue queue;
  const DeviceTensor<float> x({1, 2}, 0.0F);
  const DeviceTensor<float> y({1, 4}, 0.0F);
  const int64_t pads[] = {2, 0};
  PadArguments a;
  a.mode = PadMode::kReflect;
  a.pads = pads;
  a.count = 2;
  EXPECT_EQ(pad(queue, y.view(), x.view(), a), Status::kInvalid);
}

}  // namespace
}  // namespace dipu::kernels
