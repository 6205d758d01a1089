// SPDX-License-Identifier: Apache-2.0
//
// Note [Derivatives of gamma and beta variates]
// A variate x with distribution function F(x; a) moves with its parameter by
// -(dF/da) / (dF/dx). F and 1 - F of both distributions are series of positive
// terms whose ratio to the density is a rational function, so a term t_n and
// the derivative of its logarithm, a difference of logarithm and digamma
// functions, give the quotient without any gamma function. Below the mean the
// terms of F's derivative all have one sign, above it those of 1 - F, so
// nothing cancels. Gamma variates have no such series above the mean; F's
// serves a few deviations further, and an integral the rest.
#include <algorithm>
#include <cmath>

#include "kernels/compute/compute_dispatch.h"
#include "kernels/compute/operands.h"
#include "kernels/compute/random/variates.h"
#include "kernels/compute/special/gamma.h"

namespace dipu::kernels {
namespace {

using special::digamma;

constexpr int32_t kCost = 512;
constexpr int64_t kMaxTerms = 1000000;
constexpr double kPrecision = 1e-17;

// F = x^a e^-x sum x^n / G(a+1+n).
double gammaSeries(double a, double x) {
  double term = 1.0 / a;
  double slope = std::log(x) - digamma(a + 1.0);
  double sum = 0;
  for (int64_t n = 1; n < kMaxTerms; ++n) {
    const double part = term * slope;
    sum += part;
    const double next = a + static_cast<double>(n);
    if (next > x && std::abs(part) <= kPrecision * std::abs(sum)) break;
    term *= x / next;
    slope -= 1.0 / next;
  }
  return -x * sum;
}

// The integral of (log(x + s) - digamma(a)) (1 + s / x)^(a - 1) e^-s over s,
// by the trapezoidal rule after substitutions that make it decay doubly
// exponentially.
double gammaTail(double a, double x) {
  const double rate = 1.0 - (a - 1.0) / x;
  const double center = digamma(a);
  constexpr double kStep = 0.125;
  double sum = 0;
  for (int i = -40; i <= 40; ++i) {
    const double t = i * kStep;
    const double v = std::exp(t - std::exp(-t));
    const double s = v / rate;
    const double weight = std::exp((a - 1.0) * std::log1p(s / x) - s);
    sum += weight * (std::log(x + s) - center) * v * (1.0 + std::exp(-t));
  }
  return sum * kStep / rate;
}

// Of a normal variate with the mean and the skewness of the gamma variate.
double gammaNormal(double a, double x) {
  const double root = std::sqrt(a);
  const double first = (x - a) / root;
  const double z = first - (first * first - 1.0) / (3.0 * root);
  return 1.0 + z / (2.0 * root) - (z * z * z - 7.0 * z) / (72.0 * a * root);
}

double gammaDerivative(double a, double x) {
  if (!(a > 0.0) || !(x >= 0.0)) return std::nan("");
  if (x == 0.0) return 0.0;
  if (a > 1e6) return gammaNormal(a, x);
  return x <= a + 4.0 * std::sqrt(a) + 4.0 ? gammaSeries(a, x)
                                           : gammaTail(a, x);
}

// F = x^a (1-x)^b sum x^n G(a+b+n) / G(a+1+n) / G(b).
double betaBelow(double x, double a, double b) {
  double term = 1.0 / a;
  double slope = std::log(x) + digamma(a + b) - digamma(a + 1.0);
  double sum = 0;
  for (int64_t n = 0; n < kMaxTerms; ++n) {
    const double part = term * slope;
    sum += part;
    const double up = a + b + static_cast<double>(n);
    const double down = a + 1.0 + static_cast<double>(n);
    const double ratio = up / down * x;
    if (ratio < 1.0 &&
        std::abs(part) <= kPrecision * (1.0 - ratio) * std::abs(sum)) {
      break;
    }
    term *= ratio;
    slope += 1.0 / up - 1.0 / down;
  }
  return -x * sum;
}

// 1 - F = y^b (1-y)^a sum y^n G(a+b+n) / G(b+1+n) / G(a), y = 1 - x.
double betaAbove(double x, double a, double b) {
  const double y = 1.0 - x;
  double term = 1.0 / b;
  double slope = std::log(x) + digamma(a + b) - digamma(a);
  double sum = 0;
  for (int64_t n = 0; n < kMaxTerms; ++n) {
    const double part = term * slope;
    sum += part;
    const double up = a + b + static_cast<double>(n);
    const double ratio = up / (b + 1.0 + static_cast<double>(n)) * y;
    if (ratio < 1.0 &&
        std::abs(part) <= kPrecision * (1.0 - ratio) * std::abs(sum)) {
      break;
    }
    term *= ratio;
    slope += 1.0 / up;
  }
  return x * sum;
}

double betaDerivative(double x, double a, double total) {
  const double b = total - a;
  if (!(a > 0.0) || !(b > 0.0) || !(x >= 0.0) || !(x <= 1.0)) {
    return std::nan("");
  }
  if (x == 0.0) return 0.0;
  // Near zero little cancels, and the other series hardly converges.
  const double limit = std::max(a / total, std::min(0.5, 2.0 / total));
  return x <= limit ? betaBelow(x, a, b) : betaAbove(x, a, b);
}

}  // namespace

Status standardGammaGrad(const Queue& queue, const TensorView& out,
                         const TensorView& concentration,
                         const TensorView& sample) {
  if (!isFloating(out.dtype)) {
    return unsupportedDType("standard_gamma_grad", out.dtype);
  }
  return applyBinary<double, double>(
      queue, [](double a, double x) { return gammaDerivative(a, x); }, kCost,
      out, concentration, sample);
}

Status dirichletGrad(const Queue& queue, const TensorView& out,
                     const TensorView& sample, const TensorView& concentration,
                     const TensorView& total) {
  if (!isFloating(out.dtype)) {
    return unsupportedDType("dirichlet_grad", out.dtype);
  }
  return applyTernary<double>(
      queue,
      [](double x, double a, double t) { return betaDerivative(x, a, t); },
      kCost, out, sample, concentration, total);
}

}  // namespace dipu::kernels
