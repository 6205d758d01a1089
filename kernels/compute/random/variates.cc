// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/random/variates.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/compute/operands.h"
#include "kernels/compute/parallel.h"
#include "kernels/compute/random/element_reader.h"
#include "kernels/compute/refusal.h"

namespace dipu::kernels {
namespace {

constexpr int64_t kCost = 64;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Counts up to which sums of waiting times beat rejection.
constexpr double kSmallMean = 10.0;

// std::lgamma writes a global variable.
double logGamma(double x) {
  int sign = 0;
  return ::lgamma_r(x, &sign);
}

// The method of Marsaglia and Tsang; below 1 by way of a + 1.
double gammaVariate(double a, ElementReader* reader) {
  if (!(a > 0.0) || !std::isfinite(a)) return a == 0.0 ? 0.0 : std::nan("");
  double boost = 1.0;
  if (a < 1.0) {
    boost = std::pow(reader->positive(), 1.0 / a);
    a += 1.0;
  }
  const double d = a - 1.0 / 3.0;
  const double c = 1.0 / std::sqrt(9.0 * d);
  for (;;) {
    const double x = reader->normal();
    const double root = 1.0 + c * x;
    if (root <= 0.0) continue;
    const double v = root * root * root;
    const double bound = 0.5 * x * x + d - d * v + d * std::log(v);
    if (std::log(reader->positive()) < bound) return boost * d * v;
  }
}

// Counts the events of a unit of time, whose distances are exponential.
double poissonByWaiting(double rate, ElementReader* reader) {
  const double end = std::exp(-rate);
  double product = reader->positive();
  double count = 0;
  while (product > end) {
    product *= reader->positive();
    ++count;
  }
  return count;
}

// Hoermann's transformed rejection: a quotient of uniform numbers under a hat
// with its centre at `center`. `logDensity(k)` is the logarithm of the chance
// of k up to the constant in it.
struct RejectionHat {
  double center;
  double a;
  double b;
  double inverse_alpha;
  double quick_width;  // half width and height below which all are accepted
};

template <typename LogDensity>
double reject(const RejectionHat& hat, double largest, ElementReader* reader,
              const LogDensity& logDensity) {
  for (;;) {
    const double u = reader->uniform() - 0.5;
    const double v = reader->positive();
    const double side = 0.5 - std::abs(u);
    const double k = std::floor((2.0 * hat.a / side + hat.b) * u + hat.center);
    if (side >= 0.07 && v <= hat.quick_width) return k;
    if (k < 0 || k > largest || (side < 0.013 && v > side)) continue;
    const double height =
        std::log(v * hat.inverse_alpha / (hat.a / (side * side) + hat.b));
    if (height <= logDensity(k)) return k;
  }
}

double poissonByRejection(double rate, ElementReader* reader) {
  const double b = 0.931 + 2.53 * std::sqrt(rate);
  const RejectionHat hat{rate + 0.43, -0.059 + 0.02483 * b, b,
                         1.1239 + 1.1328 / (b - 3.4),
                         0.9277 - 3.6224 / (b - 2.0)};
  const double log_rate = std::log(rate);
  return reject(hat, kInfinity, reader, [=](double k) {
    return k * log_rate - rate - logGamma(k + 1.0);
  });
}

double poissonVariate(double rate, ElementReader* reader) {
  if (rate == 0.0) return 0.0;
  return rate < kSmallMean ? poissonByWaiting(rate, reader)
                           : poissonByRejection(rate, reader);
}

// Jumps from success to success, geometric numbers apart.
double binomialByWaiting(double count, double p, ElementReader* reader) {
  const double scale = 1.0 / std::log1p(-p);
  double trials = 0;
  double successes = 0;
  for (;;) {
    trials += std::ceil(std::log(reader->positive()) * scale);
    if (trials > count) return successes;
    ++successes;
    // A number of exactly 1 gives a distance of 0.
    if (successes >= count) return count;
  }
}

double binomialByRejection(double count, double p, ElementReader* reader) {
  const double spread = std::sqrt(count * p * (1.0 - p));
  const double b = 1.15 + 2.53 * spread;
  const double a = -0.0873 + 0.0248 * b + 0.01 * p;
  const RejectionHat hat{count * p + 0.5, a, b, (2.83 + 5.1 / b) * spread,
                         0.92 - 4.2 / b};
  const double odds = std::log(p / (1.0 - p));
  const double mode = std::floor((count + 1.0) * p);
  const double peak = logGamma(mode + 1.0) + logGamma(count - mode + 1.0);
  return reject(hat, count, reader, [=](double k) {
    return peak - logGamma(k + 1.0) - logGamma(count - k + 1.0) +
           (k - mode) * odds;
  });
}

// Probabilities beyond 0 and 1 count as these, as in PyTorch.
double binomialVariate(double count, double p, ElementReader* reader) {
  count = std::floor(count);
  if (p != p || count != count) return std::nan("");
  if (p <= 0.0 || count <= 0.0) return 0.0;
  if (p >= 1.0) return count;
  if (p > 0.5) return count - binomialVariate(count, 1.0 - p, reader);
  return count * p < kSmallMean ? binomialByWaiting(count, p, reader)
                                : binomialByRejection(count, p, reader);
}

// Lets draw(i, reader) make element i, for count elements.
template <typename Draw>
void forEachElement(const Numbers& numbers, int64_t count, const Draw& draw) {
  parallelFor(count, grainFor(1, kCost), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      ElementReader reader(numbers, i);
      draw(i, &reader);
    }
  });
}

// The tensors of a call, as float64.
struct Operands {
  DenseTensor first;
  DenseTensor second;
  DenseTensor out;

  Operands(const Queue& queue, const TensorView& y, const TensorView& a,
           const TensorView& b)
      : first(queue, a, Order::kRowMajor, DType::kFloat64),
        second(queue, b, Order::kRowMajor, DType::kFloat64),
        out(queue, y, Order::kRowMajor, DType::kFloat64) {}

  bool ready() { return first.load() && second.load() && out.open(); }
};

Status check(const char* operation, const TensorView& out, const TensorView& a,
             const TensorView& b) {
  if (!isFloating(out.dtype)) return unsupportedDType(operation, out.dtype);
  const bool fits =
      out.numel == a.numel && (!b.defined() || b.numel == out.numel);
  return fits ? Status::kOk
              : fail(Status::kInvalid, "%s: %ld results of %ld parameters",
                     operation, long(out.numel), long(a.numel));
}

// out = draw(i, a, b, reader) for each element i.
template <typename Draw>
Status sample(const Queue& queue, const char* operation, const TensorView& out,
              const TensorView& a, const TensorView& b, RandomSource* source,
              const Draw& draw) {
  const Status status = check(operation, out, a, b);
  if (status != Status::kOk || out.numel == 0) return status;
  Operands operands(queue, out, a, b);
  if (!operands.ready()) return Status::kFailed;
  const Numbers numbers = takeNumbers(source, kReservedNumbers);
  const bool sent = queue.launch([=, count = out.numel,
                                  x = operands.first.address<const double>(),
                                  z = operands.second.address<const double>(),
                                  y = operands.out.address<double>()] {
    forEachElement(numbers, count, [=](int64_t i, ElementReader* reader) {
      y[i] = draw(i, x[i], z == nullptr ? 0.0 : z[i], reader);
    });
  });
  return sent ? operands.out.store() : Status::kFailed;
}

// The smallest normal number of a dtype.
double smallest(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
      return std::numeric_limits<double>::min();
    case DType::kFloat16:
      return 0x1.0p-14;
    default:
      return std::numeric_limits<float>::min();
  }
}

// The larger one; NaN stays.
double atLeast(double least, double value) {
  return value < least ? least : value;
}

// Divides rows of `length` elements by their sums.
void normalizeRows(double* values, int64_t count, int64_t length,
                   double least) {
  for (int64_t begin = 0; begin < count; begin += length) {
    double sum = 0;
    for (int64_t i = begin; i < begin + length; ++i) sum += values[i];
    for (int64_t i = begin; i < begin + length; ++i) {
      values[i] = atLeast(least, values[i] / sum);
    }
  }
}

}  // namespace

Status poisson(const Queue& queue, const TensorView& out,
               const TensorView& rate, RandomSource* source) {
  return sample(queue, "poisson", out, rate, TensorView(), source,
                [](int64_t i, double a, double, ElementReader* reader) {
                  if (a >= 0.0 && std::isfinite(a)) {
                    return poissonVariate(a, reader);
                  }
                  refuse(
                      "element %lld of the rates is %g, but rates should be "
                      "finite and not negative",
                      static_cast<long long>(i), a);
                  return 0.0;
                });
}

Status binomial(const Queue& queue, const TensorView& out,
                const TensorView& count, const TensorView& probability,
                RandomSource* source) {
  return sample(queue, "binomial", out, count, probability, source,
                [](int64_t i, double n, double p, ElementReader* reader) {
                  if (n != kInfinity) return binomialVariate(n, p, reader);
                  refuse(
                      "element %lld of the counts is %g, but counts should "
                      "be finite",
                      static_cast<long long>(i), n);
                  return 0.0;
                });
}

Status standardGamma(const Queue& queue, const TensorView& out,
                     const TensorView& concentration, RandomSource* source) {
  const double least = smallest(out.dtype);
  return sample(queue, "standard_gamma", out, concentration, TensorView(),
                source,
                [least](int64_t, double a, double, ElementReader* reader) {
                  return atLeast(least, gammaVariate(a, reader));
                });
}

Status dirichlet(const Queue& queue, const TensorView& out,
                 const TensorView& concentration, RandomSource* source) {
  const Status status = check("dirichlet", out, concentration, TensorView());
  if (status != Status::kOk || out.numel == 0) return status;
  Operands operands(queue, out, concentration, TensorView());
  if (!operands.ready()) return Status::kFailed;
  const Numbers numbers = takeNumbers(source, kReservedNumbers);
  const int64_t length = out.ndim == 0 ? 1 : out.sizes[out.ndim - 1];
  const bool sent =
      queue.launch([=, count = out.numel, least = smallest(out.dtype),
                    x = operands.first.address<const double>(),
                    y = operands.out.address<double>()] {
        forEachElement(numbers, count, [=](int64_t i, ElementReader* reader) {
          y[i] = atLeast(std::numeric_limits<double>::min(),
                         gammaVariate(x[i], reader));
        });
        normalizeRows(y, count, length, least);
      });
  return sent ? operands.out.store() : Status::kFailed;
}

}  // namespace dipu::kernels
