// SPDX-License-Identifier: Apache-2.0
//
// The gamma function and its relatives, for one number. Pure functions: any
// thread. Formula numbers are those of the NIST Digital Library of
// Mathematical Functions (DLMF), https://dlmf.nist.gov.
#pragma once

#include <cmath>
#include <cstdint>
#include <initializer_list>

#include "kernels/compute/special/constants.h"

namespace dipu::kernels::special {

// log |Gamma(x)|; infinite at the poles.
double logGamma(double x);

// The logarithmic derivative of Gamma. NaN at the negative integers, infinite
// at 0 with the sign of -x.
double digamma(double x);

// The derivative of digamma. A template, because the value next to a pole is
// that of the rounded argument: float gives what float arithmetic gives.
template <typename T>
T trigamma(T x) {
  T sign = 1;
  T result = 0;
  if (x < T(0.5)) {  // reflection, derivative of 5.5.4
    const T sine = std::sin(T(kPi) * x);
    result = -T(kPi * kPi) / (sine * sine);
    x = T(1) - x;
    sign = T(-1);
  }
  for (int step = 0; step < 6; ++step, x += T(1)) {  // recurrence 5.15.5
    result += T(1) / (x * x);
  }
  // Asymptotic series 5.15.8; the coefficients are Bernoulli numbers.
  const T z = T(1) / (x * x);
  T series = T(7.0 / 6);
  for (const double number :
       {-691.0 / 2730, 5.0 / 66, -1.0 / 30, 1.0 / 42, -1.0 / 30, 1.0 / 6}) {
    series = series * z + T(number);
  }
  result += (T(1) + T(1) / (T(2) * x) + z * series) / x;
  return sign * result;
}

// The n-th derivative of digamma; n >= 0.
double polygamma(int64_t n, double x);

// Hurwitz's zeta function, the sum of (q + k)^-s over k >= 0. Infinite at
// s = 1 and where a term is; NaN for s < 1, and for fractional s below q = 0.
double zeta(double s, double q);

// The regularized incomplete gamma functions P(a, x) and Q(a, x) = 1 - P.
// NaN for negative arguments and for (0, 0).
double lowerGamma(double a, double x);
double upperGamma(double a, double x);

}  // namespace dipu::kernels::special
