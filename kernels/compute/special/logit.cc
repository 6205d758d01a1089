// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "kernels/compute/compute_dispatch.h"
#include "kernels/compute/special/special.h"

namespace dipu::kernels {
namespace {

constexpr int32_t kCost = 32;

// The interval to which inputs are limited.
template <typename T>
struct Limits {
  T low;
  T high;

  bool contain(T x) const { return !(x < low || x > high); }
  T apply(T x) const { return x < low ? low : x > high ? high : x; }
};

// `value` as a tensor of `dtype` holds it.
double rounded(DType dtype, double value) {
  double result = value;
  dispatchFloating(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    result = convertValue<double>(convertValue<T>(value));
  });
  return result;
}

template <typename T>
Limits<T> limitsOf(DType dtype, const double* eps) {
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  if (eps == nullptr) return {-kInfinity, kInfinity};
  const double low = rounded(dtype, *eps);
  return {static_cast<T>(low), static_cast<T>(rounded(dtype, 1 - low))};
}

}  // namespace

Status logit(const Queue& queue, const TensorView& out, const TensorView& input,
             const double* eps) {
  Status status = Status::kOk;
  const bool known =
      isFloating(out.dtype) &&
      dispatchReal(computeTypeOf(out, input), [&](auto tag) {
        using T = typename decltype(tag)::type;
        const auto f = [limits = limitsOf<T>(out.dtype, eps)](T x) {
          const T inside = limits.apply(x);
          return std::log(inside / (T(1) - inside));
        };
        status = applyUnary<T>(queue, f, kCost, out, input);
      });
  return known ? status : unsupportedDType("logit", out.dtype);
}

Status logitBackward(const Queue& queue, const TensorView& grad_input,
                     const TensorView& grad_output, const TensorView& input,
                     const double* eps) {
  Status status = Status::kOk;
  const bool limited = eps != nullptr;
  const bool known =
      isFloating(grad_input.dtype) &&
      dispatchReal(computeTypeOf(grad_input, grad_output, input),
                   [&](auto tag) {
                     using T = typename decltype(tag)::type;
                     Limits<T> limits{T(0), T(1)};
                     if (limited) limits = limitsOf<T>(grad_input.dtype, eps);
                     const T outside =
                         limited ? T(0) : std::numeric_limits<T>::quiet_NaN();
                     const auto f = [limits, outside](T grad, T x) {
                       if (!limits.contain(x)) return outside;
                       return grad / (x * (T(1) - x));
                     };
                     status = applyBinary<T, T>(queue, f, kCost, grad_input,
                                                grad_output, input);
                   });
  return known ? status : unsupportedDType("logit_backward", grad_input.dtype);
}

}  // namespace dipu::kernels
