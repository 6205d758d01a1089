// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <type_traits>

#include "kernels/compute/binary.h"
#include "kernels/compute/compute_dispatch.h"
#include "kernels/compute/power_math.h"
#include "kernels/compute/stored_number.h"

namespace dipu::kernels {
namespace {

constexpr int32_t kCost = 32;

// By repeated squaring; wraps.
template <typename T>
T integerPower(T base, T exponent) {
  if (exponent < 0) {
    if (base == 1) return 1;
    return base == T(-1) ? ((exponent & 1) != 0 ? T(-1) : T(1)) : T(0);
  }
  T result = 1;
  for (; exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result *= base;
    base *= base;
  }
  return result;
}

template <typename T>
struct Power {
  T operator()(T base, T exponent) const {
    if constexpr (std::is_integral_v<T>) {
      return integerPower(base, exponent);
    } else if constexpr (std::is_same_v<T, float>) {
      return math::pow(base, exponent);
    } else {
      return std::pow(base, exponent);
    }
  }
};

// Exponents that need no logarithm, exactly as PyTorch computes them. False
// for any other exponent.
template <typename T>
bool simplePower(const Queue& queue, const TensorView& out, const TensorView& a,
                 double exponent, Status* status) {
  const auto apply = [&](auto f) {
    *status = applyUnary<T>(queue, f, 1, out, a);
    return true;
  };
  if (exponent == 2) return apply([](T x) { return static_cast<T>(x * x); });
  if (exponent == 3) {
    return apply([](T x) { return static_cast<T>(x * x * x); });
  }
  if constexpr (std::is_floating_point_v<T>) {
    if (exponent == -1) return apply([](T x) { return T(1) / x; });
    if (exponent == -2) return apply([](T x) { return T(1) / (x * x); });
    // Roots of -infinity and -0 differ from powers, which PyTorch takes here.
    if (out.dtype == DType::kFloat16) return false;
    if (exponent == 0.5) return apply([](T x) { return std::sqrt(x); });
    if (exponent == -0.5) {
      return apply([](T x) { return T(1) / std::sqrt(x); });
    }
  }
  return false;
}

}  // namespace

Status pow(const Queue& queue, const TensorView& out, const TensorView& a,
           const TensorView& b) {
  Status status = Status::kOk;
  const bool known = dispatchCompute(computeTypeOf(out, a, b), [&](auto tag) {
    using T = typename decltype(tag)::type;
    status = applyBinary<T, T>(queue, Power<T>(), kCost, out, a, b);
  });
  return known ? status : unsupportedDType("pow", a.dtype);
}

Status powScalar(const Queue& queue, const TensorView& out, const TensorView& a,
                 const Scalar& exponent) {
  Status status = Status::kOk;
  if (out.dtype != DType::kFloat32) {
    status = checkNumber("pow", exponent, out.dtype);
    if (status != Status::kOk) return status;
  }
  const bool known = dispatchCompute(computeTypeOf(out, a), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const double value = exponent.to<double>();
    if (simplePower<T>(queue, out, a, value, &status)) return;
    const T stored = storedNumber(exponent, out.dtype).to<T>();
    const auto f = [y = stored](T x) { return Power<T>()(x, y); };
    status = applyUnary<T>(queue, f, kCost, out, a);
  });
  return known ? status : unsupportedDType("pow", a.dtype);
}

Status scalarPow(const Queue& queue, const TensorView& out, const Scalar& base,
                 const TensorView& exponent) {
  Status status = Status::kOk;
  const bool known =
      dispatchCompute(computeTypeOf(out, exponent), [&](auto tag) {
        using T = typename decltype(tag)::type;
        const T stored = storedNumber(base, out.dtype).to<T>();
        const auto f = [stored](T y) { return Power<T>()(stored, y); };
        status = applyUnary<T>(queue, f, kCost, out, exponent);
      });
  return known ? status : unsupportedDType("pow", exponent.dtype);
}

}  // namespace dipu::kernels
