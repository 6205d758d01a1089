// SPDX-License-Identifier: Apache-2.0
//
// Powers of floats, without branches and calls, so that a loop over them
// vectorises. Computed in double as 2^(y log2 |x|), hence correctly rounded in
// all but a few cases; NaN, infinities, zeros and denormal numbers as the C
// library treats them.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/compute/dtype.h"

namespace dipu::kernels::math {

namespace detail {

// log2 of a positive finite number with a relative error of 2^-43: x = 2^k m
// with m between the roots of 1/2 and 2, and log(m) = 2 artanh(s) of
// s = (m - 1) / (m + 1) by its series.
inline double log2OfPositive(double x) {
  constexpr uint64_t kRootOfHalf = 0x3fe6a09e667f3bcd;
  constexpr uint64_t kBias = uint64_t{1024} << 52;  // keeps the sum positive
  const auto bits = bitCast<uint64_t>(x);
  const uint64_t k = (bits - kRootOfHalf + kBias) >> 52;
  // The bits of 2^52 before k are the double 2^52 + k.
  const double exponent =
      bitCast<double>(k | 0x4330000000000000) - (4503599627370496.0 + 1024.0);
  const double m = bitCast<double>(bits - (k << 52) + kBias);
  const double s = (m - 1.0) / (m + 1.0);
  const double z = s * s;
  double p = 1.0 / 15;
  p = p * z + 1.0 / 13;
  p = p * z + 1.0 / 11;
  p = p * z + 1.0 / 9;
  p = p * z + 1.0 / 7;
  p = p * z + 1.0 / 5;
  p = p * z + 1.0 / 3;
  constexpr double kTwoOverLn2 = 2.88539008177792681472;
  return exponent + kTwoOverLn2 * (s + s * z * p);
}

// 2^t for |t| <= 1000, by the series of exp(r ln 2) for |r| <= 1/2.
inline double exp2Bounded(double t) {
  constexpr double kLn2 = 0.69314718055994530942;
  constexpr double kShift = 6755399441055744.0;  // 1.5 * 2^52: rounds
  const double shifted = t + kShift;
  const double u = (t - (shifted - kShift)) * kLn2;
  double p = 1.0 / 362880;
  p = p * u + 1.0 / 40320;
  p = p * u + 1.0 / 5040;
  p = p * u + 1.0 / 720;
  p = p * u + 1.0 / 120;
  p = p * u + 1.0 / 24;
  p = p * u + 1.0 / 6;
  p = p * u + 0.5;
  p = p * u + 1.0;
  p = p * u + 1.0;
  // The lowest bits of `shifted` are those of the integer.
  return bitCast<double>(bitCast<uint64_t>(p) +
                         (bitCast<uint64_t>(shifted) << 52));
}

}  // namespace detail

inline float pow(float x, float y) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  const double a = __builtin_fabs(static_cast<double>(x));
  double log = a == 0.0 ? -kInfinity : detail::log2OfPositive(a);
  log = a < kInfinity ? log : a;  // infinity and NaN
  double t = static_cast<double>(y) * log;
  t = t > 200.0 ? 200.0 : t;  // beyond all floats
  t = t < -200.0 ? -200.0 : t;
  auto result = static_cast<float>(detail::exp2Bounded(t));
  result = t == t ? result : kNaN;
  // From 2^24 on every float is even.
  const bool integer = __builtin_truncf(y) == y;
  const bool odd = integer && __builtin_truncf(y * 0.5f) != y * 0.5f;
  const bool negative = bitCast<int32_t>(x) < 0;
  result = negative && odd ? -result : result;
  result = x < 0.0f && !integer && a < kInfinity ? kNaN : result;
  const bool one = x == 1.0f || y == 0.0f ||
                   (x == -1.0f && __builtin_fabsf(y) ==
                                      std::numeric_limits<float>::infinity());
  return one ? 1.0f : result;
}

}  // namespace dipu::kernels::math
