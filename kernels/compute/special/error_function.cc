// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/special/error_function.h"

#include <cmath>

#include "kernels/compute/special/constants.h"

namespace dipu::kernels::special {
namespace {

// The inverse normal distribution function for p in (0, 0.1): Newton's method
// on the logarithm, which is concave, from the rational approximation 26.2.23
// of Abramowitz and Stegun, Handbook of Mathematical Functions.
double lowerTail(double p) {
  const double target = std::log(p);
  const double t = std::sqrt(-2 * target);
  const double top = 2.515517 + t * (0.802853 + t * 0.010328);
  const double bottom = 1 + t * (1.432788 + t * (0.189269 + t * 0.001308));
  double x = top / bottom - t;
  for (int step = 0; step < 3; ++step) {
    const double slope = kSqrtPi * kSqrtHalf * scaledErfc(-x * kSqrtHalf);
    x -= (logNormal(x) - target) * slope;
  }
  return x;
}

// The same where p = 0.5 + offset, |offset| <= 0.4, by Newton's method from
// the series of the inverse error function.
double middle(double offset) {
  const double u = kSqrtTwoPi * offset;
  double x = u + u * u * u / 6 + 7 * u * u * u * u * u / 120;
  for (int step = 0; step < 5; ++step) {
    const double difference = 0.5 * std::erf(x * kSqrtHalf) - offset;
    x -= difference * kSqrtTwoPi * std::exp(0.5 * x * x);
  }
  return x;
}

}  // namespace

double scaledErfc(double x) {
  if (x < 10) return std::exp(x * x) * std::erfc(x);
  // Asymptotic series, DLMF 7.12.1.
  const double z = 0.5 / (x * x);
  double sum = 1;
  for (int k = 10; k >= 1; --k) sum = 1 - (2 * k - 1) * z * sum;
  return sum / (x * kSqrtPi);
}

double logNormal(double x) {
  const double scaled = x * kSqrtHalf;
  if (x < -1) return std::log(0.5 * scaledErfc(-scaled)) - scaled * scaled;
  return std::log1p(-0.5 * std::erfc(scaled));
}

double inverseNormal(double p) {
  if (!(p >= 0 && p <= 1)) return kNaN;
  if (p == 0) return -kInfinity;
  if (p == 1) return kInfinity;
  if (p < 0.1) return lowerTail(p);
  return p > 0.9 ? -lowerTail(1 - p) : middle(p - 0.5);
}

}  // namespace dipu::kernels::special
