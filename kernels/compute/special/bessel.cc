// SPDX-License-Identifier: Apache-2.0
//
// Formula numbers are those of the NIST Digital Library of Mathematical
// Functions (DLMF), https://dlmf.nist.gov.
#include "kernels/compute/special/bessel.h"

#include <math.h>

#include <cmath>

#include "kernels/compute/special/constants.h"

namespace dipu::kernels::special {
namespace {

constexpr int kMaxTerms = 200;

// The sum of sign^k a_k(order) / x^k with a_k of 10.17.1, up to its smallest
// term.
double hankelSeries(double order, double x, double sign) {
  const double mu = 4 * order * order;
  double term = 1;
  double sum = 1;
  for (int k = 1; k < kMaxTerms; ++k) {
    const double odd = 2 * k - 1;
    const double next = term * sign * (mu - odd * odd) / (8 * k * x);
    if (!(std::fabs(next) < std::fabs(term))) break;
    term = next;
    sum += term;
    if (std::fabs(term) <= 0.1 * kEpsilon * std::fabs(sum)) break;
  }
  return sum;
}

// The power series 10.25.2 of I, for x >= 0. Its terms have one sign.
double seriesI(int order, double x) {
  const double q = 0.25 * x * x;
  double term = order == 0 ? 1 : 0.5 * x;
  double sum = term;
  for (int k = 1; k < kMaxTerms && term > 0.1 * kEpsilon * sum; ++k) {
    term *= q / (static_cast<double>(k) * (k + order));
    sum += term;
  }
  return sum;
}

// exp(-|x|) I(x), by 10.40.1 for large x.
double scaledI(int order, double x) {
  const double a = std::fabs(x);
  const double value =
      a <= 30 ? std::exp(-a) * seriesI(order, a)
              : hankelSeries(order, a, -1) / std::sqrt(2 * kPi * a);
  return order == 0 ? value : std::copysign(value, x);
}

double unscaledI(int order, double x) {
  const double a = std::fabs(x);
  if (a <= 30) {
    const double value = seriesI(order, a);
    return order == 0 ? value : std::copysign(value, x);
  }
  // In two halves, for I is smaller than the exponential where that overflows.
  const double half = std::exp(0.5 * a);
  return half * scaledI(order, x) * half;
}

// exp(x) K(x) of any order for x > 0.5: for large x by 10.40.2, otherwise the
// integral 10.32.9 by the trapezoidal rule, whose error falls exponentially
// with 1 / step for such an integrand.
double scaledK(double order, double x) {
  if (x > 18) return std::sqrt(0.5 * kPi / x) * hankelSeries(order, x, 1);
  constexpr double kStep = 0.15;
  double sum = 0.5;
  for (int k = 1; k < kMaxTerms; ++k) {
    const double half = std::sinh(0.5 * kStep * k);
    const double term =
        std::exp(-2 * x * half * half) * std::cosh(order * kStep * k);
    sum += term;
    if (term <= 0.1 * kEpsilon * sum) break;
  }
  return kStep * sum;
}

// The power series 10.31.2 of K0, for 0 < x <= 2.
double seriesK0(double x) {
  const double q = 0.25 * x * x;
  double term = 1;
  double harmonic = 0;
  double sum = 0;
  for (int k = 1; k < 25; ++k) {
    term *= q / (static_cast<double>(k) * k);
    harmonic += 1.0 / k;
    sum += term * harmonic;
  }
  return sum - (std::log(0.5 * x) + kEuler) * seriesI(0, x);
}

// The power series 10.31.1 of K1, for 0 < x <= 2.
double seriesK1(double x) {
  const double q = 0.25 * x * x;
  double term = 1;
  double digammas = 1 - 2 * kEuler;  // of k + 1 and k + 2
  double sum = digammas;
  for (int k = 1; k < 25; ++k) {
    term *= q / (static_cast<double>(k) * (k + 1));
    digammas += 1.0 / k + 1.0 / (k + 1);
    sum += term * digammas;
  }
  return 1 / x + std::log(0.5 * x) * seriesI(1, x) - 0.25 * x * sum;
}

double anyK(int order, double x, bool scaled) {
  if (x == 0) return kInfinity;
  if (!(x > 0)) return kNaN;
  if (x <= 2) {
    const double value = order == 0 ? seriesK0(x) : seriesK1(x);
    return scaled ? value * std::exp(x) : value;
  }
  const double value = scaledK(order, x);
  return scaled ? value : value * std::exp(-x);
}

// The power series 9.4.1 of Ai. Its two halves cancel, which the wider type
// makes up for.
double airySeries(double x) {
  constexpr long double kAt0 = 0.355028053887817239260063186004183176L;
  constexpr long double kSlope = 0.258819403792806798405183560189203963L;
  const long double cube = static_cast<long double>(x) * x * x;
  long double f = 1;
  long double g = x;
  long double sum = kAt0 * f - kSlope * g;
  for (int k = 1; k < 100; ++k) {
    f *= cube / (static_cast<long double>(3 * k) * (3 * k - 1));
    g *= cube / (static_cast<long double>(3 * k) * (3 * k + 1));
    const long double term = kAt0 * f - kSlope * g;
    sum += term;
    if (k > 20 && fabsl(term) < 1e-22L) break;
  }
  return static_cast<double>(sum);
}

// The asymptotic expansion 9.7.9 of Ai(-x), for x >= 8.
double airyOscillating(double x) {
  const double zeta = 2.0 / 3 * x * std::sqrt(x);
  double even = 1;
  double odd = 0;
  double term = 1;
  for (int k = 1; k < 30; ++k) {
    const double next =
        term * ((6 * k - 5) * (6 * k - 3) * (6 * k - 1)) /
        (216.0 * k * (2 * k - 1) * zeta);  // u_k / zeta^k of 9.7.2
    if (!(next < term)) break;
    term = next;
    const double sign = k / 2 % 2 == 0 ? 1 : -1;
    (k % 2 == 0 ? even : odd) += sign * term;
  }
  const double phase = zeta - 0.25 * kPi;
  return (std::cos(phase) * even + std::sin(phase) * odd) /
         (kSqrtPi * std::sqrt(std::sqrt(x)));
}

}  // namespace

double besselJ0(double x) { return std::isinf(x) ? kNaN : ::j0(x); }

double besselJ1(double x) { return std::isinf(x) ? kNaN : ::j1(x); }

double besselY0(double x) {
  if (x == 0) return -kInfinity;
  return x < 0 || std::isinf(x) ? kNaN : ::y0(x);
}

double besselY1(double x) {
  if (x == 0) return -kInfinity;
  return x < 0 || std::isinf(x) ? kNaN : ::y1(x);
}

double besselI0(double x) { return unscaledI(0, x); }
double besselI1(double x) { return unscaledI(1, x); }
double scaledBesselI0(double x) { return scaledI(0, x); }
double scaledBesselI1(double x) { return scaledI(1, x); }

double besselK0(double x) { return anyK(0, x, /*scaled=*/false); }
double besselK1(double x) { return anyK(1, x, /*scaled=*/false); }
double scaledBesselK0(double x) { return anyK(0, x, /*scaled=*/true); }
double scaledBesselK1(double x) { return anyK(1, x, /*scaled=*/true); }

double sphericalBesselJ0(double x) {
  if (std::isinf(x)) return 0;
  return x == 0 ? 1 : std::sin(x) / x;
}

double airyAi(double x) {
  if (std::isinf(x)) return kNaN;
  if (x < -8) return airyOscillating(-x);
  if (x <= 1) return airySeries(x);
  // 9.6.2
  const double zeta = 2.0 / 3 * x * std::sqrt(x);
  return std::sqrt(x / 3) / kPi * std::exp(-zeta) * scaledK(1.0 / 3, zeta);
}

}  // namespace dipu::kernels::special
