// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/special/gamma.h"

#include <math.h>

namespace dipu::kernels::special {
namespace {

// The sum of (q + k)^-s for q > 0 and s > 1: some terms, then the
// Euler-Maclaurin formula 25.11.28 for the rest.
double zetaPositive(double s, double q) {
  // B_2k / (2k)!
  constexpr double kCoefficients[] = {1.0 / 12,
                                      -1.0 / 720,
                                      1.0 / 30240,
                                      -1.0 / 1209600,
                                      1.0 / 47900160,
                                      -691.0 / 1307674368000,
                                      1.0 / 74724249600,
                                      -3617.0 / 10670622842880000,
                                      43867.0 / 5109094217170944000};
  double sum = 0;
  double w = q;
  for (int k = 0; k < 10 || w < 10; ++k, w += 1) {
    const double term = std::pow(w, -s);
    sum += term;
    if (term < 0.1 * kEpsilon * sum) return sum;
  }
  const double last = std::pow(w, -s);
  sum += last * (w / (s - 1) + 0.5);
  double factor = s * last / w;
  for (int k = 0; k < 9; ++k) {
    const double term = kCoefficients[k] * factor;
    sum += term;
    if (std::fabs(term) <= 0.1 * kEpsilon * std::fabs(sum)) break;
    factor *= (s + 2 * k + 1) * (s + 2 * k + 2) / (w * w);
  }
  return sum;
}

}  // namespace

double logGamma(double x) {
  int sign = 0;
  return ::lgamma_r(x, &sign);  // std::lgamma writes a global variable
}

double digamma(double x) {
  if (x == 0) return std::copysign(kInfinity, -x);
  double result = 0;
  if (x < 0) {
    double whole = 0;
    const double fraction = std::modf(x, &whole);
    if (fraction == 0) return kNaN;
    result = -kPi / std::tan(kPi * fraction);  // reflection 5.5.4
    x = 1 - x;
  }
  for (; x < 10; x += 1) result -= 1 / x;  // recurrence 5.5.2
  // Asymptotic series 5.11.2.
  const double z = 1 / (x * x);
  double series = 1.0 / 12;
  for (const double coefficient : {-691.0 / 32760, 1.0 / 132, -1.0 / 240,
                                   1.0 / 252, -1.0 / 120, 1.0 / 12}) {
    series = series * z + coefficient;
  }
  return result + std::log(x) - 0.5 / x - z * series;
}

double polygamma(int64_t n, double x) {
  if (n == 0) return digamma(x);
  if (n == 1) return trigamma(x);
  const auto order = static_cast<double>(n);
  const double magnitude =
      std::exp(logGamma(order + 1)) * zeta(order + 1, x);  // 25.11.12
  return n % 2 == 0 ? -magnitude : magnitude;
}

double zeta(double s, double q) {
  if (s == 1) return kInfinity;
  if (s < 1) return kNaN;
  if (std::isnan(s)) return q <= 0 && q == std::floor(q) ? kInfinity : kNaN;
  if (!(q <= 0)) return zetaPositive(s, q);
  if (q == std::floor(q)) return kInfinity;
  if (s != std::floor(s)) return kNaN;
  if (std::isinf(s)) return std::pow(q, -s);
  // The terms below 0 are those of two sums over positive numbers.
  const double below =
      zetaPositive(s, std::ceil(q) - q) - zetaPositive(s, 1 - q);
  const double above = zetaPositive(s, q - std::floor(q));
  return std::fmod(s, 2) == 0 ? above + below : above - below;
}

}  // namespace dipu::kernels::special
