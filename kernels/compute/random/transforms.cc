// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "kernels/compute/operands.h"
#include "kernels/compute/random/draw.h"
#include "kernels/compute/random/variates.h"

namespace dipu::kernels {
namespace {

constexpr double kPi = 3.14159265358979323846;

// out = transform(u), u uniform over [0, 1).
template <typename Transform>
Status invert(const Queue& queue, const char* operation, const TensorView& out,
              RandomSource* source, const Transform& transform) {
  DenseTensor y(queue, out, Order::kRowMajor);
  if (!y.open()) return Status::kFailed;
  const Numbers numbers = takeNumbers(source, 2 * out.numel);
  bool sent = false;
  const auto enqueue = [&](auto tag) {
    using T = typename decltype(tag)::type;
    sent = queue.launch([=, to = y.address<T>(), count = out.numel] {
      drawChunks<2>(numbers, count,
                    [=](int64_t begin, int64_t end, const uint32_t* drawn) {
                      for (int64_t i = begin; i < end; ++i) {
                        const double u = unitDouble(drawn + 2 * (i - begin));
                        to[i] = convertValue<T>(transform(u));
                      }
                    });
    });
  };
  if (!dispatchFloating(out.dtype, enqueue) &&
      !dispatchInteger(out.dtype, enqueue)) {
    return unsupportedDType(operation, out.dtype);
  }
  return sent ? y.store() : Status::kFailed;
}

// The normal number with distribution function u, by the method of Box and
// Muller from the halves of its 53 bits.
double normalFrom(double u) {
  constexpr double kHalf = 0x1.0p26;
  const double high = std::floor(u * kHalf);
  const double low = u * kHalf - high;
  const double radius = std::sqrt(-2.0 * std::log((high + 1.0) / kHalf));
  return radius * std::cos(2.0 * kPi * low);
}

}  // namespace

Status cauchy(const Queue& queue, const TensorView& out, double median,
              double sigma, RandomSource* source) {
  if (!isFloating(out.dtype)) return unsupportedDType("cauchy", out.dtype);
  return invert(queue, "cauchy", out, source, [=](double u) {
    // Around one half, where the tangent is zero; its poles are left out.
    const double angle = std::max(u, 0x1.0p-54) - 0.5;
    return median + sigma * std::tan(kPi * angle);
  });
}

Status logNormal(const Queue& queue, const TensorView& out, double mean,
                 double deviation, RandomSource* source) {
  if (!isFloating(out.dtype)) return unsupportedDType("log_normal", out.dtype);
  return invert(queue, "log_normal", out, source, [=](double u) {
    return std::exp(mean + deviation * normalFrom(u));
  });
}

Status geometric(const Queue& queue, const TensorView& out, double probability,
                 RandomSource* source) {
  if (!(probability > 0.0 && probability < 1.0)) {
    return fail(Status::kInvalid, "geometric: probability %g", probability);
  }
  const double scale = 1.0 / std::log1p(-probability);
  return invert(queue, "geometric", out, source, [scale](double u) {
    return std::max(1.0, std::ceil(std::log1p(-u) * scale));
  });
}

}  // namespace dipu::kernels
