// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/math.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "kernels/compute/power_math.h"

namespace dipu::kernels {
namespace {

// The distance of `actual` from `exact` in units of the last place.
double ulps(float actual, double exact) {
  const int exponent = exact == 0 ? -149 : std::ilogb(exact) - 23;
  return std::fabs(actual - exact) / std::ldexp(1.0, std::max(-149, exponent));
}

// The worst error over floats of all magnitudes; checks special results.
template <typename F, typename G>
double worstError(const F& f, const G& exact) {
  constexpr uint64_t kStep = 40009;
  double worst = 0;
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += kStep) {
    const auto x = bitCast<float>(static_cast<uint32_t>(bits));
    const float y = f(x);
    const double want = exact(static_cast<double>(x));
    const auto rounded = static_cast<float>(want);
    if (std::isnan(rounded) || std::isinf(rounded)) {
      EXPECT_EQ(std::isnan(rounded), std::isnan(y)) << x;
      if (std::isinf(rounded)) {
        EXPECT_EQ(y, rounded) << x;
      }
    } else {
      worst = std::max(worst, ulps(y, want));
    }
  }
  return worst;
}

#define DIPU_ERROR_OF(function)                         \
  worstError([](float x) { return math::function(x); }, \
             [](double x) { return std::function(x); })

TEST(Math, StaysWithinTwoUlpOfTheLibrary) {
  EXPECT_LT(DIPU_ERROR_OF(exp), 2.0);
  EXPECT_LT(DIPU_ERROR_OF(log), 2.0);
  EXPECT_LT(DIPU_ERROR_OF(log2), 2.0);
  EXPECT_LT(DIPU_ERROR_OF(tanh), 2.0);
  EXPECT_LT(DIPU_ERROR_OF(erf), 2.0);
  EXPECT_LT(DIPU_ERROR_OF(sin), 2.0);
  EXPECT_LT(DIPU_ERROR_OF(cos), 2.0);
}

TEST(Math, GivesTheNormalDistribution) {
  for (float x = -8.0f; x <= 8.0f; x += 1.0f / 1024) {
    const double exact = 0.5 * std::erfc(-x / std::sqrt(2.0));
    // Half a last place near 1 comes on top of the polynomial's error.
    EXPECT_NEAR(math::normalCdf(x), exact, 9e-8) << x;
  }
  EXPECT_EQ(math::normalCdf(-6.0f), 0.0f);
  EXPECT_EQ(math::normalCdf(std::numeric_limits<float>::infinity()), 1.0f);
  EXPECT_TRUE(
      std::isnan(math::normalCdf(std::numeric_limits<float>::quiet_NaN())));
}

TEST(Math, PowersStayWithinOneUlpOfTheLibrary) {
  std::mt19937 random(1);
  double worst = 0;
  for (int i = 0; i < 1000000; ++i) {
    const auto x = bitCast<float>(static_cast<uint32_t>(random()));
    // Exponents that keep a good part of the results finite.
    const float y = std::ldexp(static_cast<float>(random()) - 2147483648.0f,
                               -20 - static_cast<int>(random() % 16));
    const double want = std::pow(double{x}, double{y});
    const float got = math::pow(x, y);
    const auto rounded = static_cast<float>(want);
    if (std::isnan(rounded) || std::isinf(rounded)) {
      ASSERT_EQ(std::isnan(rounded), std::isnan(got)) << x << " " << y;
      if (std::isinf(rounded)) {
        ASSERT_EQ(got, rounded) << x << " " << y;
      }
    } else {
      worst = std::max(worst, ulps(got, want));
    }
  }
  EXPECT_LT(worst, 1.0);
}

TEST(Math, PowersOfSpecialNumbersAreTheLibrarys) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  const float numbers[] = {0.0f,        -0.0f,      1.0f,        -1.0f,
                           2.0f,        -2.0f,      0.5f,        -0.5f,
                           3.0f,        -3.0f,      kInfinity,   -kInfinity,
                           kNaN,        1e-45f,     -1e-45f,     3.4e38f,
                           -3.4e38f,    1.5f,       16777215.0f, -16777215.0f,
                           16777216.0f, 8388609.0f, 1e10f,       0.9999999f};
  for (const float x : numbers) {
    for (const float y : numbers) {
      const float want = std::pow(x, y);
      const float got = math::pow(x, y);
      EXPECT_EQ(std::isnan(want), std::isnan(got)) << x << " " << y;
      if (std::isnan(want)) continue;
      EXPECT_FLOAT_EQ(got, want) << x << " " << y;
      EXPECT_EQ(std::signbit(got), std::signbit(want)) << x << " " << y;
    }
  }
}

TEST(Math, TreatsEndsOfTheRangeLikeTheLibrary) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(math::exp(kInfinity), kInfinity);
  EXPECT_EQ(math::exp(-kInfinity), 0.0f);
  EXPECT_FLOAT_EQ(math::exp(-100.0f), std::exp(-100.0f));  // denormal
  EXPECT_EQ(math::log(0.0f), -kInfinity);
  EXPECT_TRUE(std::isnan(math::log(-1.0f)));
  EXPECT_EQ(math::tanh(kInfinity), 1.0f);
  EXPECT_EQ(math::erf(-kInfinity), -1.0f);
  EXPECT_TRUE(std::signbit(math::tanh(-0.0f)));
  EXPECT_TRUE(std::signbit(math::sin(-0.0f)));
  EXPECT_TRUE(std::isnan(math::exp(kNaN)));
  EXPECT_TRUE(std::isnan(math::sin(kInfinity)));
}

TEST(Convert, RoundsSixteenBitFloatsToNearestEven) {
  EXPECT_EQ(static_cast<float>(BFloat16(1.00390625f)), 1.0f);
  EXPECT_EQ(static_cast<float>(BFloat16(1.01171875f)), 1.015625f);
  EXPECT_EQ(static_cast<float>(Float16(2049.0f)), 2048.0f);
  EXPECT_EQ(static_cast<float>(Float16(65520.0f)),
            std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(
      static_cast<float>(BFloat16(std::numeric_limits<float>::quiet_NaN()))));
}

TEST(Convert, WrapsIntegersAndTestsBoolAgainstZero) {
  EXPECT_EQ(convertValue<int8_t>(int64_t{300}), 44);
  EXPECT_EQ(convertValue<uint8_t>(-1.0f), 255);
  EXPECT_EQ(convertValue<int32_t>(-2.9f), -2);
  EXPECT_TRUE(convertValue<bool>(0.25f));
  EXPECT_FALSE(convertValue<bool>(-0.0f));
}

}  // namespace
}  // namespace dipu::kernels
