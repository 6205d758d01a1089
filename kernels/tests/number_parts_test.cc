// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/number_parts.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/compute/binary.h"
#include "kernels/compute/membership.h"
#include "kernels/tests/device_tensor.h"

namespace dipu::kernels {
namespace {

using testing::asDouble;
using testing::DeviceTensor;
using testing::TestQueue;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

using Floats = std::vector<float>;

TEST(Rounding, RoundsHalvesToEven) {
  TestQueue queue;
  const DeviceTensor<float> a({5}, {0.5f, 1.5f, -2.5f, -0.2f, 1e9f});
  const DeviceTensor<float> out({5}, 0.0f);
  ASSERT_EQ(round(queue, out.view(), a.view()), Status::kOk);
  EXPECT_EQ(out.read(), (Floats{0, 2, -2, -0.0f, 1e9f}));
  EXPECT_TRUE(std::signbit(out.read()[3]));
  ASSERT_EQ(trunc(queue, out.view(), a.view()), Status::kOk);
  EXPECT_EQ(out.read(), (Floats{0, 1, -2, 0, 1e9f}));
  ASSERT_EQ(frac(queue, out.view(), a.view()), Status::kOk);
  EXPECT_EQ(out.read(), (Floats{0.5f, 0.5f, -0.5f, -0.2f, 0}));
}

TEST(Rounding, RoundsToDecimalsOfBothSigns) {
  TestQueue queue;
  const DeviceTensor<double> a({2}, {1234.5678, -1250.0});
  const DeviceTensor<double> out({2}, 0.0);
  ASSERT_EQ(roundDecimals(queue, out.view(), a.view(), 2), Status::kOk);
  EXPECT_EQ(out.read(), (std::vector<double>{1234.57, -1250}));
  ASSERT_EQ(roundDecimals(queue, out.view(), a.view(), -2), Status::kOk);
  EXPECT_EQ(out.read(), (std::vector<double>{1200, -1200}));
}

TEST(Rounding, LeavesIntegersAndRefusesBool) {
  TestQueue queue;
  const DeviceTensor<int16_t> a({2}, {-7, 300});
  const DeviceTensor<int16_t> out({2}, int16_t{0});
  ASSERT_EQ(round(queue, out.view(), a.view()), Status::kOk);
  EXPECT_EQ(out.read(), a.read());
  TensorView flag = a.view();
  flag.dtype = DType::kBool;
  EXPECT_EQ(trunc(queue, flag, flag), Status::kUnsupported);
}

TEST(NumberParts, SplitsNumbersIntoMantissaAndExponent) {
  TestQueue queue;
  const DeviceTensor<Float16> storage({4, 2}, Float16(-6.0f));
  const auto a = storage.strided(1, 2);
  const DeviceTensor<Float16> mantissa({4, 1}, Float16(0.0f));
  const DeviceTensor<int32_t> exponent({4, 1}, 0);
  ASSERT_EQ(frexp(queue, mantissa.view(), exponent.view(), a.view()),
            Status::kOk);
  EXPECT_EQ(exponent.read(), (std::vector<int32_t>(4, 3)));
  for (const Float16 m : mantissa.read()) EXPECT_EQ(asDouble(m), -0.75);
}

TEST(NumberParts, SeesSignsOfZeroAndNaN) {
  TestQueue queue;
  const DeviceTensor<float> a({4}, {-0.0f, 0.0f, -kNaN, 2.0f});
  const DeviceTensor<uint8_t> flags({4}, uint8_t{9});
  ASSERT_EQ(signbit(queue, flags.view(), a.view()), Status::kOk);
  EXPECT_EQ(flags.read(), (std::vector<uint8_t>{1, 0, 1, 0}));
  const DeviceTensor<float> out({4}, 0.0f);
  const DeviceTensor<float> five({}, 5.0f);
  ASSERT_EQ(copysign(queue, out.view(), five.view(), a.view()), Status::kOk);
  EXPECT_EQ(out.read(), (Floats{-5, 5, -5, 5}));
  ASSERT_EQ(copysignScalar(queue, out.view(), five.view(), {false, 0, -0.0}),
            Status::kOk);
  EXPECT_EQ(out.read(), (Floats{-5, -5, -5, -5}));
}

TEST(NumberParts, AngleIsPiBelowZero) {
  TestQueue queue;
  const DeviceTensor<float> a({3}, {-1.0f, 2.0f, kNaN});
  const DeviceTensor<float> out({3}, 0.0f);
  ASSERT_EQ(angle(queue, out.view(), a.view()), Status::kOk);
  EXPECT_FLOAT_EQ(out.read()[0], 3.14159265f);
  EXPECT_EQ(out.read()[1], 0.0f);
  EXPECT_TRUE(std::isnan(out.read()[2]));
}

TEST(NumberParts, StepsToTheNextNumberOfTheType) {
  TestQueue queue;
  const DeviceTensor<BFloat16> a(
      {4}, {BFloat16(1.0f), BFloat16(-1.0f), BFloat16(0.0f), BFloat16(2.0f)});
  const DeviceTensor<BFloat16> b({}, BFloat16(2.0f));
  const DeviceTensor<BFloat16> out({4}, BFloat16(0.0f));
  ASSERT_EQ(nextafter(queue, out.view(), a.view(), b.view()), Status::kOk);
  const auto values = out.read();
  EXPECT_EQ(asDouble(values[0]), 1.0078125);
  EXPECT_EQ(asDouble(values[1]), -0.99609375);
  EXPECT_EQ(values[2].bits, 1);
  EXPECT_EQ(asDouble(values[3]), 2.0);
}

TEST(NumberParts, ReplacesWhatIsNotFinite) {
  TestQueue queue;
  const DeviceTensor<float> a({4}, {kNaN, kInfinity, -kInfinity, 1.5f});
  const DeviceTensor<float> out({4}, 0.0f);
  ASSERT_EQ(nanToNum(queue, out.view(), a.view(), nullptr, nullptr, nullptr),
            Status::kOk);
  constexpr float kMax = std::numeric_limits<float>::max();
  EXPECT_EQ(out.read(), (Floats{0, kMax, -kMax, 1.5f}));
  const double one = 1;
  ASSERT_EQ(nanToNum(queue, out.view(), a.view(), &one, &one, &one),
            Status::kOk);
  EXPECT_EQ(out.read(), (Floats{1, 1, 1, 1.5f}));
}

TEST(Integers, DivisorsAndMultiplesOfExtremes) {
  TestQueue queue;
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  const DeviceTensor<int64_t> a({5}, {12, -12, 0, kMin, 0});
  const DeviceTensor<int64_t> b({5}, {18, 8, 5, -1, 0});
  const DeviceTensor<int64_t> out({5}, int64_t{0});
  ASSERT_EQ(gcd(queue, out.view(), a.view(), b.view()), Status::kOk);
  EXPECT_EQ(out.read(), (std::vector<int64_t>{6, 4, 5, 1, 0}));
  ASSERT_EQ(lcm(queue, out.view(), a.view(), b.view()), Status::kOk);
  EXPECT_EQ(out.read(), (std::vector<int64_t>{36, 24, 0, kMin, 0}));
}

TEST(Integers, ShiftsByAnyCount) {
  TestQueue queue;
  const DeviceTensor<int8_t> a({5}, {-128, 3, -1, 64, 5});
  const DeviceTensor<int8_t> b({5}, {1, 2, 100, 1, -1});
  const DeviceTensor<int8_t> out({5}, int8_t{0});
  ASSERT_EQ(shiftLeft(queue, out.view(), a.view(), b.view()), Status::kOk);
  EXPECT_EQ(out.read(), (std::vector<int8_t>{0, 12, 0, -128, 0}));
  ASSERT_EQ(shiftRight(queue, out.view(), a.view(), b.view()), Status::kOk);
  EXPECT_EQ(out.read(), (std::vector<int8_t>{-64, 0, -1, 32, 0}));
}

TEST(Extremes, PreferNumbersToNaN) {
  TestQueue queue;
  const DeviceTensor<float> a({3}, {kNaN, 1.0f, kNaN});
  const DeviceTensor<float> b({3}, {2.0f, kNaN, kNaN});
  const DeviceTensor<float> out({3}, 0.0f);
  ASSERT_EQ(fmax(queue, out.view(), a.view(), b.view()), Status::kOk);
  EXPECT_EQ(out.read()[0], 2.0f);
  EXPECT_EQ(out.read()[1], 1.0f);
  EXPECT_TRUE(std::isnan(out.read()[2]));
  ASSERT_EQ(fmin(queue, out.view(), a.view(), b.view()), Status::kOk);
  EXPECT_EQ(out.read()[0], 2.0f);
}

TEST(Extremes, StepTakesItsValueAtZero) {
  TestQueue queue;
  const DeviceTensor<float> a({4}, {-1.0f, -0.0f, 3.0f, kNaN});
  const DeviceTensor<float> half({}, 0.5f);
  const DeviceTensor<float> out({4}, 9.0f);
  ASSERT_EQ(heaviside(queue, out.view(), a.view(), half.view()), Status::kOk);
  EXPECT_EQ(out.read(), (Floats{0, 0.5f, 1, 0}));
}

TEST(Division, FmodHasTheSignOfTheDividend) {
  TestQueue queue;
  const DeviceTensor<int32_t> a({3}, {7, -7, std::numeric_limits<int>::min()});
  const DeviceTensor<int32_t> b({3}, {3, 3, -1});
  const DeviceTensor<int32_t> out({3}, 9);
  ASSERT_EQ(fmod(queue, out.view(), a.view(), b.view()), Status::kOk);
  EXPECT_EQ(out.read(), (std::vector<int32_t>{1, -1, 0}));
  const DeviceTensor<float> x({2}, {7.5f, -7.5f});
  ASSERT_EQ(fmodScalar(queue, x.view(), x.view(), {true, 2, 2.0}), Status::kOk);
  EXPECT_EQ(x.read(), (Floats{1.5f, -1.5f}));
}

TEST(Membership, FindsElementsOfOtherTypesAndLayouts) {
  TestQueue queue;
  const DeviceTensor<float> a({2, 3}, {1, 2, kNaN, 4, 2.5f, 6});
  const DeviceTensor<int64_t> tests({2, 2}, {6, 2, 2, 9});
  const DeviceTensor<uint8_t> out({3, 2}, uint8_t{9});
  TensorView result = out.view();
  result.dtype = DType::kBool;
  const auto turned = a.transposed(0, 1);
  ASSERT_EQ(isIn(queue, result, turned.view(), tests.view(), false),
            Status::kOk);
  EXPECT_EQ(out.read(), (std::vector<uint8_t>{0, 0, 1, 0, 0, 1}));
  ASSERT_EQ(isIn(queue, result, turned.view(), tests.view(), true),
            Status::kOk);
  EXPECT_EQ(out.read(), (std::vector<uint8_t>{1, 1, 0, 1, 1, 0}));
}

TEST(Membership, NaNIsInNothing) {
  TestQueue queue;
  const DeviceTensor<float> a({3}, {kNaN, 1, 2});
  const DeviceTensor<float> tests({4}, {2, kNaN, 1, kNaN});
  const DeviceTensor<uint8_t> out({3}, uint8_t{9});
  TensorView result = out.view();
  result.dtype = DType::kBool;
  ASSERT_EQ(isIn(queue, result, a.view(), tests.view(), false), Status::kOk);
  EXPECT_EQ(out.read(), (std::vector<uint8_t>{0, 1, 1}));
}

TEST(Membership, ComparesANumberExactly) {
  TestQueue queue;
  const DeviceTensor<int32_t> tests({3}, {1, 2, 3});
  const DeviceTensor<uint8_t> out({}, uint8_t{9});
  TensorView result = out.view();
  result.dtype = DType::kBool;
  ASSERT_EQ(isScalarIn(queue, result, {false, 2, 2.5}, tests.view(), false),
            Status::kOk);
  EXPECT_EQ(out.read()[0], 0);
  ASSERT_EQ(isScalarIn(queue, result, {true, 2, 2.0}, tests.view(), false),
            Status::kOk);
  EXPECT_EQ(out.read()[0], 1);
}

}  // namespace
}  // namespace dipu::kernels
