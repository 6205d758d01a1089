// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/softmax/softmax.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/tests/device_tensor.h"

namespace dipu::kernels {
namespace {

using testing::asDouble;
using testing::DeviceTensor;
using testing::randomTensor;
using testing::TestQueue;

// A tensor as [outer, length, inner] around the dimension of the softmax.
struct Split {
  int64_t outer, length, inner;
};

template <typename T>
std::vector<double> reference(const std::vector<T>& x, const Split& s,
                              bool log) {
  std::vector<double> y(x.size());
  for (int64_t o = 0; o < s.outer; ++o) {
    for (int64_t i = 0; i < s.inner; ++i) {
      const auto at = [&](int64_t k) {
        return (o * s.length + k) * s.inner + i;
      };
      double sum = 0;
      for (int64_t k = 0; k < s.length; ++k)
        sum += std::exp(asDouble(x[at(k)]));
      for (int64_t k = 0; k < s.length; ++k) {
        const double value = asDouble(x[at(k)]);
        y[at(k)] = log ? value - std::log(sum) : std::exp(value) / sum;
      }
    }
  }
  return y;
}

template <typename T>
class SoftmaxTest : public ::testing::Test {
 public:
  static double tolerance() {
    return kDTypeOf<T> == DType::kFloat64   ? 1e-14
           : kDTypeOf<T> == DType::kFloat32 ? 2e-6
                                            : 1e-2;
  }
};
using FloatTypes = ::testing::Types<float, double, Float16, BFloat16>;
TYPED_TEST_SUITE(SoftmaxTest, FloatTypes);

TYPED_TEST(SoftmaxTest, AnyDimension) {
  using T = TypeParam;
  TestQueue queue;
  for (const Split& s : {Split{3, 5, 1}, Split{2, 1000, 1}, Split{3, 7, 40},
                         Split{1, 4, 33}, Split{2, 3, 5}}) {
    for (bool log : {false, true}) {
      const auto x = randomTensor<T>({s.outer, s.length, s.inner}, 1);
      const DeviceTensor<T> y({s.outer, s.length, s.inner}, T(0.0F));
      ASSERT_EQ(softmax(queue, log ? SoftmaxKind::kLog : SoftmaxKind::kPlain,
                        y.view(), x.view(), 1),
                Status::kOk);
      const auto expected = reference(x.read(), s, log);
      const auto actual = y.read();
      for (std::size_t i = 0; i < actual.size(); ++i) {
        ASSERT_NEAR(asDouble(actual[i]), expected[i],
                    this->tolerance() * (1 + std::abs(expected[i])));
      }
    }
  }
}

TYPED_TEST(SoftmaxTest, StridedViews) {
  using T = TypeParam;
  TestQueue queue;
  const auto x = randomTensor<T>({12, 9}, 1).transposed(0, 1).strided(1, 2);
  const DeviceTensor<T> y = DeviceTensor<T>({6, 9}, T(0.0F)).transposed(0, 1);
  ASSERT_EQ(softmax(queue, SoftmaxKind::kPlain, y.view(), x.view(), -1),
            Status::kOk);
  const auto expected = reference(x.read(), {9, 6, 1}, false);
  const auto actual = y.read();
  for (std::size_t i = 0; i < actual.size(); ++i) {
    ASSERT_NEAR(asDouble(actual[i]), expected[i], this->tolerance());
  }
}

// The gradient by central differences of the forward pass.
TEST(SoftmaxBackwardTest, IsTheDerivative) {
  TestQueue queue;
  for (SoftmaxKind kind : {SoftmaxKind::kPlain, SoftmaxKind::kLog}) {
    for (const Split& s : {Split{2, 6, 1}, Split{1, 5, 20}}) {
      const std::vector<int64_t> sizes{s.outer, s.length, s.inner};
      const bool log = kind == SoftmaxKind::kLog;
      auto values = testing::randomValues<double>(testing::product(sizes), 1);
      const auto g = randomTensor<double>(sizes, 2);
      const DeviceTensor<double> y(sizes, reference(values, s, log));
      const DeviceTensor<double> dx(sizes, NAN);
      ASSERT_EQ(softmaxBackward(queue, kind, dx.view(), g.view(), y.view(), 1),
                Status::kOk);
      const auto gradient = g.read();
      const auto actual = dx.read();
      for (std::size_t i = 0; i < values.size(); ++i) {
        constexpr double kStep = 1e-5;
        const auto loss = [&](double step) {
          auto moved = values;
          moved[i] += step;
          const auto result = reference(moved, s, log);
          double sum = 0;
          for (std::size_t j = 0; j < result.size(); ++j) {
            sum += result[j] * gradient[j];
          }
          return sum;
        };
        const double expected = (loss(kStep) - loss(-kStep)) / (2 * kStep);
        ASSERT_NEAR(actual[i], expected, 1e-8);
      }
    }
  }
}

TEST(SoftmaxEdgeTest, LargeValuesNanAndInfinity) {
  TestQueue queue;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const DeviceTensor<float> x(
      {4, 2}, {1000.0F, 1000.0F, NAN, 0.0F, -kInfinity, 0.0F, kInfinity, 0.0F});
  const DeviceTensor<float> y({4, 2}, 0.0F);
  softmax(queue, SoftmaxKind::kPlain, y.view(), x.view(), 1);
  const auto out = y.read();
  EXPECT_EQ(out[0], 0.5F);
  EXPECT_TRUE(std::isnan(out[2]) && std::isnan(out[3]));
  EXPECT_EQ(out[4], 0.0F);
  EXPECT_EQ(out[5], 1.0F);
  EXPECT_TRUE(std::isnan(out[6]));
}

TEST(SoftmaxEdgeTest, ScalarsAndEmptyTensors) {
  TestQueue queue;
  const DeviceTensor<float> scalar({}, 3.0F);
  const DeviceTensor<float> out({}, 0.0F);
  EXPECT_EQ(softmax(queue, SoftmaxKind::kPlain, out.view(), scalar.view(), 0),
            Status::kOk);
  EXPECT_EQ(out.read()[0], 1.0F);
  const DeviceTensor<float> empty({0, 3}, 0.0F);
  EXPECT_EQ(softmax(queue, SoftmaxKind::kPlain, empty.view(), empty.view(), 1),
            Status::kOk);
}

TEST(SoftmaxEdgeTest, RefusesWrongArguments) {
  TestQueue queue;
  const DeviceTensor<float> x({2, 2}, 0.0F);
  const DeviceTensor<float> other({2, 3}, 0.0F);
  const DeviceTensor<int64_t> integers({2, 2}, int64_t{0});
  const auto plain = SoftmaxKind::kPlain;
  EXPECT_EQ(softmax(queue, plain, x.view(), x.view(), 2), Status::kInvalid);
  EXPECT_EQ(softmax(queue, plain, other.view(), x.view(), 0), Status::kInvalid);
  EXPECT_EQ(softmax(queue, plain, integers.view(), integers.view(), 0),
            Status::kUnsupported);
}

}  // namespace
}  // namespace dipu::kernels
