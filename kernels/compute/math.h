// SPDX-License-Identifier: Apache-2.0
//
// Elementary functions for kernels. The float versions have no branches and
// call nothing, so a loop over them vectorises; they are within 2 ulp (see
// kernels/tests/math_test.cc) and treat NaN, infinities, signed zeros and
// denormal numbers as the C library does. The double versions are the C
// library's.
//
// The polynomials are minimax fits of this project.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/compute/dtype.h"

namespace dipu::kernels::math {

inline double exp(double x) { return std::exp(x); }
inline double log(double x) { return std::log(x); }
inline double log2(double x) { return std::log2(x); }
inline double tanh(double x) { return std::tanh(x); }
inline double erf(double x) { return std::erf(x); }
inline double normalCdf(double x) {
  return 0.5 * (1.0 + std::erf(x * 0.70710678118654752440));
}
inline double sin(double x) { return std::sin(x); }
inline double cos(double x) { return std::cos(x); }

// The parts of an exponential: exp(x) = 2^exponent y, y from 0.7 to 1.42.
struct ExpParts {
  int32_t exponent;
  float y;
};

// exp(n ln2 + r) = 2^n (1 + r + r^2 q(r)).
inline ExpParts expParts(float x) {
  const float n = __builtin_rintf(x * 1.44269504f);
  float r = x - n * 0.693359375f;
  r = r - n * -2.12194440e-4f;
  float q = 0.00138144712255f;
  q = q * r + 0.0083687806896f;
  q = q * r + 0.0416683941487f;
  q = q * r + 0.166665201048f;
  q = q * r + 0.499999934127f;
  return {static_cast<int32_t>(n), 1.0f + (r + r * r * q)};
}

// 2^exponent for exponents of normal numbers.
inline float powerOfTwo(int32_t exponent) {
  return bitCast<float>((exponent + 127) << 23);
}

// The power of two is applied in two halves, so that results underflow to
// denormal numbers and overflow to infinity instead of wrapping.
inline float exp(float x) {
  x = x < -104.0f ? -104.0f : x;
  x = x > 89.0f ? 89.0f : x;
  const ExpParts parts = expParts(x);
  const int32_t half = parts.exponent >> 1;
  return parts.y * powerOfTwo(half) * powerOfTwo(parts.exponent - half);
}

// exp(x) for |x| <= 87, where the result is a normal number.
inline float expBounded(float x) {
  const ExpParts parts = expParts(x);
  return parts.y * powerOfTwo(parts.exponent);
}

// The parts of a logarithm: x = 2^exponent (1 + f), log(1 + f) = f + rest.
struct LogParts {
  float exponent;
  float f;
  float rest;
};

inline LogParts logParts(float x) {
  const bool denormal = x < 1.17549435e-38f;
  const float scaled = denormal ? x * 8388608.0f : x;
  const auto bits = bitCast<int32_t>(scaled);
  // 0x3f3504f3 is the square root of one half.
  const int32_t shift = (bits - 0x3f3504f3) >> 23;
  const float f =
      bitCast<float>(static_cast<int32_t>(
          static_cast<uint32_t>(bits) - (static_cast<uint32_t>(shift) << 23))) -
      1.0f;
  float p = 0.0674663755625f;
  p = p * f - 0.116756507021f;
  p = p * f + 0.118881628854f;
  p = p * f - 0.124055896002f;
  p = p * f + 0.142195525372f;
  p = p * f - 0.166679957799f;
  p = p * f + 0.200021186275f;
  p = p * f - 0.250000096016f;
  p = p * f + 0.333333126053f;
  const float square = f * f;
  return {static_cast<float>(shift) - (denormal ? 23.0f : 0.0f), f,
          square * (p * f - 0.5f)};
}

// What a logarithm of any base gives outside the positive finite numbers.
inline float logSpecial(float x, float result) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  result = x < kInfinity ? result : x;
  result = x == 0.0f ? -kInfinity : result;
  return x < 0.0f ? kNaN : result;
}

inline float log(float x) {
  const LogParts parts = logParts(x);
  const float low = parts.rest + parts.exponent * -2.12194440e-4f;
  return logSpecial(x, parts.exponent * 0.693359375f + (parts.f + low));
}

inline float log2(float x) {
  const LogParts parts = logParts(x);
  // 1.44269504 split in two, for f times its upper part is nearly exact.
  const float low = parts.rest * 1.44269504f + parts.f * 0.00519504f;
  return logSpecial(x, parts.exponent + (parts.f * 1.4375f + low));
}

inline float tanh(float x) {
  const float a = __builtin_fabsf(x);
  const float u = x * x;
  float p = -0.00564831389772f;
  p = p * u + 0.0205898240084f;
  p = p * u - 0.0537251257632f;
  p = p * u + 0.133312744202f;
  p = p * u - 0.333332760586f;
  const float small = x + x * u * p;
  const float large = 1.0f - 2.0f / (exp(2.0f * a) + 1.0f);
  return __builtin_copysignf(a < 0.625f ? small : large, x);
}

// erf(x) = x p(x^2) up to 1, then 1 - exp(-q(x)); 1 in float from 4 on.
inline float erf(float x) {
  const float a = __builtin_fabsf(x);
  const float u = x * x;
  float p = -9.6415283525e-6f;
  p = p * u + 0.000112569523579f;
  p = p * u - 0.000848282948032f;
  p = p * u + 0.00522094547802f;
  p = p * u - 0.0268654000589f;
  p = p * u + 0.112837819744f;
  p = p * u - 0.376126384347f;
  p = p * u + 0.12837916706f;
  const float t = a > 4.0f ? 4.0f : a;
  float q = 2.16866854899e-5f;
  q = q * t - 0.000441334343314f;
  q = q * t + 0.00420455131728f;
  q = q * t - 0.0252082269181f;
  q = q * t + 0.108418527812f;
  q = q * t + 0.63321994146f;
  q = q * t + 1.12957839852f;
  q = q * t - 0.000188034462726f;
  const float large = 1.0f - expBounded(-q);  // q is 18 at most
  return a < 1.0f ? x + x * p : __builtin_copysignf(large, x);
}

// The probability that a standard normal variable is at most x. The lower half
// is exp(-q(|x| / sqrt(2))) / 2, with an absolute error of 3e-8; below x =
// -5.66, where the probability is below 8e-9, it is taken for 0.
inline float normalCdf(float x) {
  const float a = __builtin_fabsf(x) * 0.70710678f;
  const float t = a > 4.0f ? 4.0f : a;
  float q = -3.34978916e-6f;
  q = q * t + 5.5979555e-5f;
  q = q * t - 0.00037326607f;
  q = q * t + 0.0010999117f;
  q = q * t + 0.00053094729f;
  q = q * t - 0.0196240711f;
  q = q * t + 0.10294764f;
  q = q * t + 0.636591135f;
  q = q * t + 1.1283807f;
  const float lower = 0.5f * expBounded(-q * t);  // q * t is 18 at most
  const float tail = a >= 4.0f ? 0.0f : lower;
  return x < 0.0f ? tail : 1.0f - tail;
}

// Largest argument of sinBounded and cosBounded.
inline constexpr float kTrigonometricBound = 1e9f;

// sin(x + quarter * pi / 2) for |x| <= kTrigonometricBound.
inline float sinQuarter(float x, int32_t quarter) {
  const double wide = x;
  const double turns = __builtin_rint(wide * 0.63661977236758134308);
  double reduced = wide - turns * 1.57079632679489655800;
  reduced = reduced - turns * 6.12323399573676603587e-17;
  const auto r = static_cast<float>(reduced);
  const int32_t n = static_cast<int32_t>(turns) + quarter;
  const float u = r * r;
  float s = 2.7182745637e-6f;
  s = s * u - 0.000198393310092f;
  s = s * u + 0.00833332937417f;
  s = s * u - 0.166666666415f;
  s = r + r * u * s;
  float c = -2.72098947777e-7f;
  c = c * u + 2.47995159173e-5f;
  c = c * u - 0.00138888837382f;
  c = c * u + 0.0416666666227f;
  c = (1.0f - 0.5f * u) + u * u * c;
  const float value = (n & 1) != 0 ? c : s;
  return (n & 2) != 0 ? -value : value;
}

inline float sinBounded(float x) {
  return x == 0.0f ? x : sinQuarter(x, 0);  // keeps the sign of zero
}
inline float cosBounded(float x) { return sinQuarter(x, 1); }

// Any argument; a loop over these does not vectorise.
inline float sin(float x) {
  return __builtin_fabsf(x) <= kTrigonometricBound ? sinBounded(x)
                                                   : std::sin(x);
}
inline float cos(float x) {
  return __builtin_fabsf(x) <= kTrigonometricBound ? cosBounded(x)
                                                   : std::cos(x);
}

template <typename T>
inline T sigmoid(T x) {
  return T(1) / (T(1) + exp(-x));
}

}  // namespace dipu::kernels::math
