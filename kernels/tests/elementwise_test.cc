// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/elementwise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "kernels/compute/activation.h"
#include "kernels/compute/binary.h"
#include "kernels/compute/pointwise.h"
#include "kernels/compute/unary.h"
#include "kernels/tests/device_tensor.h"

namespace dipu::kernels {
namespace {

using testing::asDouble;
using testing::DeviceTensor;
using testing::randomTensor;
using testing::TestQueue;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

Scalar integer(int64_t value) {
  return {true, value, static_cast<double>(value)};
}
Scalar real(double value) { return {false, 0, value}; }

using Shape = std::vector<int64_t>;

// Tensors with the same values in different layouts.
template <typename T>
std::vector<DeviceTensor<T>> layouts(const Shape& shape, uint32_t seed) {
  std::vector<DeviceTensor<T>> all{randomTensor<T>(shape, seed)};
  const int last = static_cast<int>(shape.size()) - 1;
  if (last < 1) return all;
  Shape swapped = shape;
  std::swap(swapped[0], swapped[last]);
  all.push_back(randomTensor<T>(swapped, seed).transposed(0, last));
  Shape wide = shape;
  wide[last] *= 3;
  all.push_back(randomTensor<T>(wide, seed).strided(last, 3));
  return all;
}

template <typename T>
void checkAdd(const Shape& shape, double tolerance) {
  TestQueue queue;
  for (const auto& a : layouts<T>(shape, 1)) {
    for (const auto& b : layouts<T>(shape, 2)) {
      const DeviceTensor<T> out(shape, T(0.0f));
      ASSERT_EQ(add(queue, out.view(), a.view(), b.view(), real(0.5)),
                Status::kOk);
      const auto x = a.read();
      const auto y = b.read();
      const auto z = out.read();
      for (std::size_t i = 0; i < z.size(); ++i) {
        ASSERT_NEAR(asDouble(z[i]), asDouble(x[i]) + 0.5 * asDouble(y[i]),
                    tolerance);
      }
    }
  }
}

TEST(Elementwise, AddsTensorsOfAnyLayout) {
  for (const Shape& shape : {Shape{}, Shape{0}, Shape{7}, Shape{3, 0, 2},
                             Shape{33, 65}, Shape{5, 4, 3}, Shape{70, 300}}) {
    checkAdd<float>(shape, 1e-6);
    checkAdd<double>(shape, 1e-15);
    checkAdd<Float16>(shape, 1e-3);
    checkAdd<BFloat16>(shape, 1e-2);
  }
}

TEST(Elementwise, WritesOutputsOfAnyLayout) {
  TestQueue queue;
  const auto a = randomTensor<float>({129, 70}, 3);
  for (const auto& out : layouts<float>({129, 70}, 4)) {
    ASSERT_EQ(unary(queue, UnaryOp::kNeg, out.view(), a.view()), Status::kOk);
    const auto x = a.read();
    const auto y = out.read();
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], -x[i]);
  }
}

TEST(Elementwise, BroadcastsRowsColumnsAndScalars) {
  TestQueue queue;
  const auto a = randomTensor<float>({40, 300}, 5);
  for (const Shape& shape : {Shape{300}, Shape{40, 1}, Shape{}, Shape{1, 1}}) {
    const auto b = randomTensor<float>(shape, 6);
    const DeviceTensor<float> out({40, 300}, 0.0f);
    ASSERT_EQ(mul(queue, out.view(), a.view(), b.view()), Status::kOk);
    const auto x = a.read();
    const auto y = b.read();
    const auto z = out.read();
    for (std::size_t i = 0; i < z.size(); ++i) {
      const std::size_t j = shape == Shape{300}     ? i % 300
                            : shape == Shape{40, 1} ? i / 300
                                                    : 0;
      ASSERT_EQ(z[i], x[i] * y[j]);
    }
  }
}

TEST(Elementwise, RefusesSizesThatDoNotBroadcast) {
  TestQueue queue;
  const DeviceTensor<float> a({4, 5}, 1.0f);
  const DeviceTensor<float> b({4}, 1.0f);
  EXPECT_EQ(add(queue, a.view(), a.view(), b.view(), integer(1)),
            Status::kInvalid);
  EXPECT_NE(std::string(lastMessage()).find("size 4"), std::string::npos);
}

TEST(Elementwise, WorksInPlaceOnStridedTensors) {
  TestQueue queue;
  const DeviceTensor<int64_t> storage({6, 10}, int64_t{1});
  const auto even = storage.strided(1, 2);
  ASSERT_EQ(addScalar(queue, even.view(), even.view(), integer(4), integer(2)),
            Status::kOk);
  const auto values = storage.read();
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(values[i], i % 2 == 0 ? 9 : 1);
  }
}

TEST(Elementwise, ComputesMixedTypesInTheWidest) {
  TestQueue queue;
  const DeviceTensor<int64_t> a({300}, int64_t{3});
  const DeviceTensor<BFloat16> b({300}, BFloat16(0.5f));
  const DeviceTensor<float> out({300}, 0.0f);
  ASSERT_EQ(mul(queue, out.view(), a.view(), b.view()), Status::kOk);
  for (const float x : out.read()) ASSERT_EQ(x, 1.5f);
}

TEST(Binary, WrapsIntegers) {
  TestQueue queue;
  const DeviceTensor<int8_t> a({2}, {127, -128});
  const DeviceTensor<int8_t> b({2}, {1, -1});
  const DeviceTensor<int8_t> out({2}, int8_t{0});
  ASSERT_EQ(add(queue, out.view(), a.view(), b.view(), integer(1)),
            Status::kOk);
  EXPECT_EQ(out.read(), (std::vector<int8_t>{-128, 127}));
  ASSERT_EQ(div(queue, out.view(), a.view(), b.view(), RoundMode::kTrunc),
            Status::kOk);
  EXPECT_EQ(out.read(), (std::vector<int8_t>{127, -128}));
}

TEST(Binary, DividesByEachRoundingMode) {
  TestQueue queue;
  const DeviceTensor<float> a({4}, {7.0f, -7.0f, 7.0f, -7.0f});
  const DeviceTensor<float> b({4}, {2.0f, 2.0f, -2.0f, -2.0f});
  const DeviceTensor<float> out({4}, 0.0f);
  const auto result = [&](RoundMode mode) {
    EXPECT_EQ(div(queue, out.view(), a.view(), b.view(), mode), Status::kOk);
    return out.read();
  };
  EXPECT_EQ(result(RoundMode::kNone),
            (std::vector<float>{3.5, -3.5, -3.5, 3.5}));
  EXPECT_EQ(result(RoundMode::kTrunc), (std::vector<float>{3, -3, -3, 3}));
  EXPECT_EQ(result(RoundMode::kFloor), (std::vector<float>{3, -4, -4, 3}));
  EXPECT_EQ(remainder(queue, out.view(), a.view(), b.view()), Status::kOk);
  EXPECT_EQ(out.read(), (std::vector<float>{1, 1, -1, -1}));
}

TEST(Binary, ReportsIntegerDivisionByZero) {
  const DeviceTensor<int32_t> a({3}, {1, 2, 3});
  const DeviceTensor<int32_t> b({3}, {1, 0, 3});
  const DeviceTensor<int32_t> out({3}, 0);
  TestQueue queue;
  ASSERT_EQ(div(queue, out.view(), a.view(), b.view(), RoundMode::kFloor),
            Status::kOk);
  EXPECT_EQ(queue.wait(), SOFT_LAUNCH_FAILURE);
  EXPECT_NE(std::string(soft_last_message()).find("division by zero"),
            std::string::npos);
  soft_device_reset(0);
}

TEST(Binary, KeepsNaNInMaximumAndMinimum) {
  TestQueue queue;
  const DeviceTensor<float> a({3}, {kNaN, 1.0f, 2.0f});
  const DeviceTensor<float> b({3}, {0.0f, kNaN, 3.0f});
  const DeviceTensor<float> out({3}, 0.0f);
  ASSERT_EQ(maximum(queue, out.view(), a.view(), b.view()), Status::kOk);
  auto values = out.read();
  EXPECT_TRUE(std::isnan(values[0]) && std::isnan(values[1]));
  EXPECT_EQ(values[2], 3.0f);
  ASSERT_EQ(minimum(queue, out.view(), a.view(), b.view()), Status::kOk);
  values = out.read();
  EXPECT_TRUE(std::isnan(values[0]) && std::isnan(values[1]));
  EXPECT_EQ(values[2], 2.0f);
}

TEST(Binary, ComparesWithNumbersOfBothKinds) {
  TestQueue queue;
  const DeviceTensor<int64_t> a({3}, {1, 2, 3});
  const DeviceTensor<uint8_t> out({3}, uint8_t{9});
  ASSERT_EQ(
      compareScalar(queue, CompareOp::kLt, out.view(), a.view(), real(2.5)),
      Status::kOk);
  EXPECT_EQ(out.read(), (std::vector<uint8_t>{1, 1, 0}));
  ASSERT_EQ(
      compareScalar(queue, CompareOp::kEq, out.view(), a.view(), integer(2)),
      Status::kOk);
  EXPECT_EQ(out.read(), (std::vector<uint8_t>{0, 1, 0}));
}

TEST(Binary, RaisesIntegersToIntegerPowers) {
  TestQueue queue;
  const DeviceTensor<int64_t> base({4}, {2, -1, 3, 1});
  const DeviceTensor<int64_t> exponent({4}, {62, -3, -1, -7});
  const DeviceTensor<int64_t> out({4}, int64_t{0});
  ASSERT_EQ(pow(queue, out.view(), base.view(), exponent.view()), Status::kOk);
  EXPECT_EQ(out.read(), (std::vector<int64_t>{int64_t{1} << 62, -1, 0, 1}));
}

TEST(Unary, ReluKeepsNaNAndDropsNegativeNumbers) {
  TestQueue queue;
  const DeviceTensor<float> a({3}, {kNaN, -1.0f, 2.0f});
  ASSERT_EQ(unary(queue, UnaryOp::kRelu, a.view(), a.view()), Status::kOk);
  const auto values = a.read();
  EXPECT_TRUE(std::isnan(values[0]));
  EXPECT_EQ(values[1], 0.0f);
  EXPECT_EQ(values[2], 2.0f);
}

TEST(Unary, RefusesRealFunctionsIntoIntegers) {
  TestQueue queue;
  const DeviceTensor<int64_t> a({3}, int64_t{1});
  EXPECT_EQ(unary(queue, UnaryOp::kExp, a.view(), a.view()),
            Status::kUnsupported);
}

TEST(Pointwise, ChoosesByAMaskOfAnyLayout) {
  TestQueue queue;
  const DeviceTensor<uint8_t> mask({2, 3}, {1, 0, 1, 0, 1, 0});
  const DeviceTensor<double> a({2, 3}, 1.0);
  const DeviceTensor<double> b({}, 2.0);
  const DeviceTensor<double> out({3, 2}, 0.0);
  ASSERT_EQ(where(queue, out.view(), mask.transposed(0, 1).view(),
                  a.transposed(0, 1).view(), b.view()),
            Status::kOk);
  EXPECT_EQ(out.read(), (std::vector<double>{1, 2, 2, 1, 1, 2}));
  ASSERT_EQ(maskedFill(queue, a.view(), a.view(), mask.view(), integer(7)),
            Status::kOk);
  EXPECT_EQ(a.read(), (std::vector<double>{7, 1, 7, 1, 7, 1}));
}

TEST(Pointwise, FillsAndCounts) {
  TestQueue queue;
  const DeviceTensor<BFloat16> storage({4, 4}, BFloat16(0.0f));
  ASSERT_EQ(fill(queue, storage.strided(0, 2).view(), real(2.5)), Status::kOk);
  const auto filled = storage.read();
  EXPECT_EQ(asDouble(filled[0]), 2.5);
  EXPECT_EQ(asDouble(filled[4]), 0.0);
  const DeviceTensor<int32_t> count({5}, 0);
  ASSERT_EQ(arange(queue, count.view(), integer(3), integer(-2)), Status::kOk);
  EXPECT_EQ(count.read(), (std::vector<int32_t>{3, 1, -1, -3, -5}));
  const DeviceTensor<float> line({5}, 0.0f);
  ASSERT_EQ(linspace(queue, line.view(), real(0), real(1), 5), Status::kOk);
  EXPECT_EQ(line.read(), (std::vector<float>{0, 0.25, 0.5, 0.75, 1}));
}

TEST(Pointwise, ClampsToOneOrTwoBounds) {
  TestQueue queue;
  const DeviceTensor<float> a({4}, {-3.0f, kNaN, 0.5f, 3.0f});
  const DeviceTensor<float> out({4}, 0.0f);
  const Scalar low = integer(-1);
  const Scalar high = integer(1);
  ASSERT_EQ(clampScalar(queue, out.view(), a.view(), &low, &high), Status::kOk);
  auto values = out.read();
  EXPECT_TRUE(std::isnan(values[1]));
  EXPECT_EQ(values[0], -1.0f);
  EXPECT_EQ(values[3], 1.0f);
  ASSERT_EQ(clampScalar(queue, out.view(), a.view(), nullptr, &high),
            Status::kOk);
  EXPECT_EQ(out.read()[0], -3.0f);
}

// The derivative of `forward` by central differences.
template <typename Forward, typename Backward>
void checkDerivative(const Forward& forward, const Backward& backward) {
  TestQueue queue;
  constexpr double kStep = 1e-5;
  const auto x = randomTensor<double>({50}, 8);
  const DeviceTensor<double> one({50}, 1.0);
  const DeviceTensor<double> grad({50}, 0.0);
  ASSERT_EQ(backward(queue, grad.view(), one.view(), x.view()), Status::kOk);
  const auto value = [&](double shift) {
    const DeviceTensor<double> y({50}, 0.0);
    EXPECT_EQ(addScalar(queue, y.view(), x.view(), real(shift), integer(1)),
              Status::kOk);
    EXPECT_EQ(forward(queue, y.view(), y.view()), Status::kOk);
    return y.read();
  };
  const auto above = value(kStep);
  const auto below = value(-kStep);
  const auto slope = grad.read();
  for (std::size_t i = 0; i < slope.size(); ++i) {
    ASSERT_NEAR(slope[i], (above[i] - below[i]) / (2 * kStep), 1e-8);
  }
}

TEST(Activation, DerivativesMatchDifferences) {
  for (const bool tanh : {false, true}) {
    checkDerivative([tanh](const Queue& q, const TensorView& y,
                           const TensorView& x) { return gelu(q, y, x, tanh); },
                    [tanh](const Queue& q, const TensorView& dx,
                           const TensorView& dy, const TensorView& x) {
                      return geluBackward(q, dx, dy, x, tanh);
                    });
  }
  checkDerivative(&silu, &siluBackward);
  checkDerivative(&hardswish, &hardswishBackward);
}

}  // namespace
}  // namespace dipu::kernels
