// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernels/compute/special/gamma.h"

namespace dipu::kernels::special {
namespace {

// From here on the uniform expansion takes over, because the number of terms
// of the others grows with the square root of a.
constexpr double kLarge = 1e5;
constexpr int kMaxTerms = 20000;

// x - log(1 + x).
double excess(double x) {
  if (std::fabs(x) < 1e-4) return x * x * (0.5 - x * (1.0 / 3 - 0.25 * x));
  return x - std::log1p(x);
}

// x^a e^-x / Gamma(a + 1); for a >= 10 by Stirling's series 5.11.1, which
// leaves no large numbers to cancel.
double prefix(double a, double x) {
  if (a < 10) return std::exp(a * std::log(x) - x - logGamma(a + 1));
  const double z = 1 / (a * a);
  const double stirling =
      (1.0 / 12 - z * (1.0 / 360 - z * (1.0 / 1260 - z / 1680))) / a;
  return std::exp(-a * excess((x - a) / a) - stirling) /
         (kSqrtTwoPi * std::sqrt(a));
}

// P(a, x) by the series 8.11.4.
double lowerSeries(double a, double x) {
  double term = 1;
  double sum = 1;
  for (int k = 1; k < kMaxTerms && term > 0.1 * kEpsilon * sum; ++k) {
    term *= x / (a + k);
    sum += term;
  }
  return prefix(a, x) * sum;
}

// Q(a, x) by the continued fraction 8.9.2, evaluated by Lentz's method.
double upperFraction(double a, double x) {
  constexpr double kTiny = 1e-300;
  double b = x + 1 - a;
  double c = 1 / kTiny;
  double d = 1 / (b == 0 ? kTiny : b);
  double fraction = d;
  for (int k = 1; k < kMaxTerms; ++k) {
    const double numerator = -k * (k - a);
    b += 2;
    d = numerator * d + b;
    c = b + numerator / c;
    d = 1 / (d == 0 ? kTiny : d);
    if (c == 0) c = kTiny;
    fraction *= d * c;
    if (std::fabs(d * c - 1) <= kEpsilon) break;
  }
  return a * prefix(a, x) * fraction;
}

struct Pair {
  double lower;
  double upper;
};

// Temme's uniform expansion for large a, 8.12.3 and 8.12.4. Its coefficients
// c_0 and c_1 are taken as power series in eta, which is small wherever
// neither P nor Q vanishes.
Pair uniform(double a, double x) {
  const double mu = (x - a) / a;
  const double half_square = excess(mu);
  const double eta = std::copysign(std::sqrt(2 * half_square), mu);
  constexpr double kC0[] = {-1.0 / 3,  1.0 / 12,   -2.0 / 135,
                            1.0 / 864, 1.0 / 2835, -139.0 / 777600};
  constexpr double kC1[] = {-1.0 / 540, -1.0 / 288, 1.0 / 378};
  double c0 = 0;
  double c1 = 0;
  for (int k = 5; k >= 0; --k) c0 = c0 * eta + kC0[k];
  for (int k = 2; k >= 0; --k) c1 = c1 * eta + kC1[k];
  const double rest =
      std::exp(-a * half_square) / (kSqrtTwoPi * std::sqrt(a)) * (c0 + c1 / a);
  const double scaled = eta * std::sqrt(0.5 * a);
  return {0.5 * std::erfc(-scaled) - rest, 0.5 * std::erfc(scaled) + rest};
}

// Both functions inside the open quadrant.
Pair inside(double a, double x) {
  if (a > kLarge) return uniform(a, x);
  if (x < a + 1) {
    const double lower = lowerSeries(a, x);
    return {lower, 1 - lower};
  }
  const double upper = upperFraction(a, x);
  return {1 - upper, upper};
}

// Both functions anywhere. As in PyTorch, a limit counts even beside NaN.
Pair incomplete(double a, double x) {
  if (a < 0 || x < 0) return {kNaN, kNaN};
  if (a == 0) return x > 0 ? Pair{1, 0} : Pair{kNaN, kNaN};
  if (x == 0) return {0, 1};
  if (std::isinf(a)) return std::isinf(x) ? Pair{kNaN, kNaN} : Pair{0, 1};
  if (std::isinf(x)) return {1, 0};
  if (std::isnan(a) || std::isnan(x)) return {kNaN, kNaN};
  return inside(a, x);
}

}  // namespace

double lowerGamma(double a, double x) { return incomplete(a, x).lower; }

double upperGamma(double a, double x) { return incomplete(a, x).upper; }

}  // namespace dipu::kernels::special
