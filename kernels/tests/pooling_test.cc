// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "kernels/compute/pooling/pool.h"
#include "kernels/tests/device_tensor.h"

namespace dipu::kernels {
namespace {

using testing::DeviceTensor;
using testing::randomTensor;
using testing::TestQueue;

struct Case {
  PoolAxis height, width;
  int64_t in_height, in_width, out_height, out_width;
  bool adaptive = false;
};

const Case kCases[] = {
    {{2, 2, 0, 1}, {2, 2, 0, 1}, 6, 8, 3, 4},
    {{3, 2, 1, 1}, {2, 1, 0, 1}, 7, 5, 4, 4},
    {{3, 1, 1, 2}, {3, 3, 1, 1}, 8, 9, 6, 3},
    {{3, 2, 0, 1}, {3, 2, 0, 1}, 6, 6, 3, 3},  // last window cut off
    {{}, {}, 7, 5, 3, 2, true},
};

constexpr int64_t kN = 2, kC = 3;

// The elements of a window as positions in its plane, and its size with
// padding.
std::vector<int64_t> window(const Case& c, int64_t oh, int64_t ow,
                            int64_t* padded) {
  const auto range = [&](const PoolAxis& axis, int64_t out, int64_t in,
                         int64_t count, std::vector<int64_t>* positions) {
    if (c.adaptive) {
      for (int64_t i = out * in / count;
           i < (in * (out + 1) + count - 1) / count; ++i) {
        positions->push_back(i);
      }
      return static_cast<int64_t>(positions->size());
    }
    int64_t size = 0;
    for (int64_t k = 0; k < axis.kernel; ++k) {
      const int64_t i = out * axis.stride - axis.padding + k * axis.dilation;
      if (i < in + axis.padding) ++size;
      if (i >= 0 && i < in) positions->push_back(i);
    }
    return size;
  };
  std::vector<int64_t> rows;
  std::vector<int64_t> columns;
  *padded = range(c.height, oh, c.in_height, c.out_height, &rows) *
            range(c.width, ow, c.in_width, c.out_width, &columns);
  std::vector<int64_t> result;
  for (int64_t r : rows) {
    for (int64_t w : columns) result.push_back(r * c.in_width + w);
  }
  return result;
}

PoolArguments arguments(const Case& c) {
  PoolArguments a;
  a.height = c.height;
  a.width = c.width;
  a.adaptive = c.adaptive;
  return a;
}

// An image in row-major order or channels last.
template <typename T>
DeviceTensor<T> image(int64_t h, int64_t w, bool last, uint32_t seed) {
  if (!last) return randomTensor<T>({kN, kC, h, w}, seed);
  return randomTensor<T>({kN, h, w, kC}, seed)
      .transposed(2, 3)
      .transposed(1, 2);
}

template <typename T>
class PoolingTest : public ::testing::Test {};
using FloatTypes = ::testing::Types<float, double, Float16, BFloat16>;
TYPED_TEST_SUITE(PoolingTest, FloatTypes);

TYPED_TEST(PoolingTest, MaximumAndItsPosition) {
  using T = TypeParam;
  TestQueue queue;
  for (const Case& c : kCases) {
    for (bool last : {false, true}) {
      const auto x = image<T>(c.in_height, c.in_width, last, 1);
      const auto y = image<T>(c.out_height, c.out_width, last, 2);
      const DeviceTensor<int64_t> indices({kN, kC, c.out_height, c.out_width},
                                          int64_t{-1});
      ASSERT_EQ(
          maxPool(queue, y.view(), indices.view(), x.view(), arguments(c)),
          Status::kOk);
      const auto in = x.read();
      const auto out = y.read();
      const auto where = indices.read();
      const int64_t plane = c.in_height * c.in_width;
      const int64_t pixels = c.out_height * c.out_width;
      for (std::size_t i = 0; i < out.size(); ++i) {
        int64_t padded = 0;
        const int64_t p = static_cast<int64_t>(i) % pixels;
        const auto positions =
            window(c, p / c.out_width, p % c.out_width, &padded);
        const T* from = in.data() + static_cast<int64_t>(i) / pixels * plane;
        const int64_t best = *std::max_element(
            positions.begin(), positions.end(), [from](int64_t a, int64_t b) {
              return testing::asDouble(from[a]) < testing::asDouble(from[b]);
            });
        ASSERT_EQ(where[i], best);
        ASSERT_EQ(testing::asDouble(out[i]), testing::asDouble(from[best]));
      }
    }
  }
}

// An average divides by the size with padding, that without, or a given one.
enum class Divisor { kPadded, kCovered, kFive };

// Checks y against the averages of x, and dx against those that g went to.
template <typename T>
void expectAverages(const Case& c, Divisor divisor, const DeviceTensor<T>& x,
                    const DeviceTensor<T>& y, const DeviceTensor<T>& g,
                    const DeviceTensor<T>& dx) {
  const double tolerance = sizeof(T) == 2 ? 1e-2 : 1e-6;
  const auto in = x.read();
  const auto out = y.read();
  const auto gradient = g.read();
  std::vector<double> expected(in.size(), 0.0);
  const int64_t pixels = c.out_height * c.out_width;
  for (int64_t i = 0; i < static_cast<int64_t>(out.size()); ++i) {
    const int64_t plane = i / pixels * c.in_height * c.in_width;
    int64_t padded = 0;
    const auto positions =
        window(c, i % pixels / c.out_width, i % pixels % c.out_width, &padded);
    const int64_t covered = static_cast<int64_t>(positions.size());
    const double count = double(divisor == Divisor::kPadded ? padded
                                : divisor == Divisor::kFive ? 5
                                                            : covered);
    double sum = 0;
    for (int64_t k : positions) {
      sum += testing::asDouble(in[plane + k]);
      expected[plane + k] += testing::asDouble(gradient[i]) / count;
    }
    ASSERT_NEAR(testing::asDouble(out[i]), sum / count, tolerance);
  }
  const auto actual = dx.read();
  for (std::size_t i = 0; i < actual.size(); ++i) {
    ASSERT_NEAR(testing::asDouble(actual[i]), expected[i], tolerance);
  }
}

TYPED_TEST(PoolingTest, AverageAndItsGradient) {
  using T = TypeParam;
  TestQueue queue;
  for (const Case& c : kCases) {
    if (c.height.dilation != 1) continue;
    for (bool last : {false, true}) {
      for (Divisor divisor :
           {Divisor::kPadded, Divisor::kCovered, Divisor::kFive}) {
        if (c.adaptive && divisor != Divisor::kPadded) continue;
        PoolArguments a = arguments(c);
        a.count_include_pad = divisor == Divisor::kPadded;
        a.divisor = divisor == Divisor::kFive ? 5 : 0;
        const auto x = image<T>(c.in_height, c.in_width, last, 1);
        const auto y = image<T>(c.out_height, c.out_width, last, 2);
        const auto g = image<T>(c.out_height, c.out_width, last, 3);
        const auto dx = image<T>(c.in_height, c.in_width, last, 4);
        ASSERT_EQ(avgPool(queue, y.view(), x.view(), a), Status::kOk);
        ASSERT_EQ(avgPoolBackward(queue, dx.view(), g.view(), a), Status::kOk);
        expectAverages(c, divisor, x, y, g, dx);
      }
    }
  }
}

TYPED_TEST(PoolingTest, MaximumGradientAddsUp) {
  using T = TypeParam;
  TestQueue queue;
  for (bool last : {false, true}) {
    const auto dx = image<T>(3, 4, last, 1);
    const DeviceTensor<T> g({kN, kC, 1, 3}, T(2.0F));
    std::vector<int64_t> where;
    for (int64_t i = 0; i < kN * kC; ++i) {
      where.insert(where.end(), {5, 5, 11});
    }
    const DeviceTensor<int64_t> indices({kN, kC, 1, 3}, where);
    ASSERT_EQ(maxPoolBackward(queue, dx.view(), g.view(), indices.view(), 2),
              Status::kOk);
    const auto actual = dx.read();
    for (std::size_t i = 0; i < actual.size(); ++i) {
      const double expected = i % 12 == 5 ? 4.0 : i % 12 == 11 ? 2.0 : 0.0;
      ASSERT_EQ(testing::asDouble(actual[i]), expected);
    }
  }
}

TYPED_TEST(PoolingTest, MaximumGradientReportsAnIndexOutside) {
  using T = TypeParam;
  for (bool last : {false, true}) {
    for (int64_t outside : {-1, 12}) {
      TestQueue queue;
      const auto dx = image<T>(3, 4, last, 1);
      const DeviceTensor<T> g({kN, kC, 1, 1}, T(2.0F));
      const DeviceTensor<int64_t> where({kN, kC, 1, 1}, outside);
      ASSERT_EQ(maxPoolBackward(queue, dx.view(), g.view(), where.view(), 2),
                Status::kOk);
      EXPECT_NE(queue.wait(), SOFT_OK);
      const std::string named = "index " + std::to_string(outside) + " is out";
      EXPECT_NE(std::string(soft_last_message()).find(named),
                std::string::npos);
      soft_device_reset(0);
    }
  }
}

TEST(PoolingEdgeTest, RefusesGradientsOfOtherImages) {
  TestQueue queue;
  const DeviceTensor<float> dx({2, 3, 2, 2}, 0.0F);
  const DeviceTensor<float> fits({2, 3, 1, 1}, 0.0F);
  const DeviceTensor<float> fewer({1, 3, 1, 1}, 0.0F);
  const DeviceTensor<int64_t> where({2, 3, 1, 1}, int64_t{0});
  const DeviceTensor<int64_t> few({1, 3, 1, 1}, int64_t{0});
  const DeviceTensor<int64_t> turned({3, 2, 1, 1}, int64_t{0});
  EXPECT_EQ(maxPoolBackward(queue, dx.view(), fewer.view(), few.view(), 2),
            Status::kInvalid);
  EXPECT_EQ(maxPoolBackward(queue, dx.view(), fits.view(), turned.view(), 2),
            Status::kInvalid);
  PoolArguments a;
  a.height.kernel = a.width.kernel = 2;
  EXPECT_EQ(maxPool(queue, fits.view(), few.view(), dx.view(), a),
            Status::kInvalid);
  EXPECT_EQ(maxPool(queue, fits.view(), where.view(), dx.view(), a),
            Status::kOk);
}

TEST(PoolingEdgeTest, NanWins) {
  TestQueue queue;
  const DeviceTensor<float> x({1, 2, 2}, {1.0F, NAN, 3.0F, 2.0F});
  const DeviceTensor<float> y({1, 1, 1}, 0.0F);
  const DeviceTensor<int64_t> where({1, 1, 1}, int64_t{0});
  PoolArguments a;
  a.height.kernel = a.width.kernel = 2;
  maxPool(queue, y.view(), where.view(), x.view(), a);
  EXPECT_TRUE(std::isnan(y.read()[0]));
  EXPECT_EQ(where.read()[0], 1);
}

TEST(PoolingEdgeTest, ThreeDimensions) {
  TestQueue queue;
  const auto x = randomTensor<double>({2, 3, 4, 5}, 1);
  const DeviceTensor<double> most({2, 2, 2, 4}, 0.0);
  const DeviceTensor<double> mean({2, 2, 2, 4}, 0.0);
  const DeviceTensor<int64_t> where({2, 2, 2, 4}, int64_t{-1});
  PoolArguments a;
  a.dimensions = 3;
  a.depth.kernel = a.height.kernel = a.width.kernel = 2;
  a.height.stride = 2;
  ASSERT_EQ(maxPool(queue, most.view(), where.view(), x.view(), a),
            Status::kOk);
  ASSERT_EQ(avgPool(queue, mean.view(), x.view(), a), Status::kOk);
  const auto in = x.read();
  for (int64_t i = 0; i < 32; ++i) {
    const int64_t first = i / 16 * 60 + i / 8 % 2 * 20 + i / 4 % 2 * 10 + i % 4;
    double largest = -2.0;
    double sum = 0.0;
    int64_t best = 0;
    for (int64_t k : {0, 1, 5, 6, 20, 21, 25, 26}) {
      sum += in[first + k];
      if (in[first + k] > largest) best = (first + k) % 60;
      largest = std::max(largest, in[first + k]);
    }
    EXPECT_EQ(most.read()[i], largest);
    EXPECT_EQ(where.read()[i], best);
    EXPECT_NEAR(mean.read()[i], sum / 8, 1e-12);
  }
}

TEST(PoolingEdgeTest, RefusesWindowsOutsideTheImage) {
  TestQueue queue;
  const DeviceTensor<float> x({1, 4, 4}, 0.0F);
  const DeviceTensor<float> y({1, 9, 4}, 0.0F);
  EXPECT_EQ(maxPool(queue, y.view(), TensorView(), x.view(), {}),
            Status::kInvalid);
  EXPECT_EQ(avgPool(queue, y.view(), x.view(), {}), Status::kInvalid);
}

}  // namespace
}  // namespace dipu::kernels
