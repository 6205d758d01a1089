// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "kernels/compute/compute_dispatch.h"
#include "kernels/compute/special/function_op.h"
#include "kernels/compute/special/gamma.h"
#include "kernels/compute/special/polynomial.h"
#include "kernels/compute/special/special.h"

namespace dipu::kernels {
namespace {

using special::BinaryFunction;
using special::inDouble;

constexpr int32_t kCost = 64;

template <typename T>
T arcTangent(T y, T x) {
  return std::atan2(y, x);
}

template <typename T>
T hypotenuse(T x, T y) {
  return std::hypot(x, y);
}

double xLogY(double x, double y) {
  if (std::isnan(y)) return y;
  return x == 0 ? 0.0 : x * std::log(y);
}

double xLog1pY(double x, double y) {
  if (std::isnan(y)) return y;
  return x == 0 ? 0.0 : x * std::log1p(y);
}

double logAddExp(double a, double b) {
  if (std::isinf(a) && a == b) return a;
  const double largest = a > b ? a : b;
  return largest + std::log1p(std::exp(-std::fabs(a - b)));
}

double logAddExp2(double a, double b) {
  if (std::isinf(a) && a == b) return a;
  const double largest = a > b ? a : b;
  return largest +
         std::log1p(std::exp2(-std::fabs(a - b))) * special::kInverseLogTwo;
}

// A degree beyond int64, or NaN, is a negative one, which gives 0.
template <typename T>
int64_t degreeOf(T n) {
  constexpr T kBound = T(9.2e18);
  return n > -kBound && n < kBound ? static_cast<int64_t>(n) : int64_t{-1};
}

template <typename T, T (*polynomial)(T, int64_t)>
T atDegree(T x, T n) {
  return polynomial(x, degreeOf(n));
}

template <float (*single)(float, int64_t), double (*wide)(double, int64_t)>
constexpr BinaryFunction polynomial(const char* name) {
  return {name, &atDegree<float, single>, &atDegree<double, wide>};
}

#define DIPU_POLYNOMIAL(function, name) \
  polynomial<special::function<float>, special::function<double>>(name)

BinaryFunction polynomialOf(SpecialBinaryOp op) {
  switch (op) {
    case SpecialBinaryOp::kChebyshevT:
      return DIPU_POLYNOMIAL(chebyshevT, "special_chebyshev_polynomial_t");
    case SpecialBinaryOp::kChebyshevU:
      return DIPU_POLYNOMIAL(chebyshevU, "special_chebyshev_polynomial_u");
    case SpecialBinaryOp::kChebyshevV:
      return DIPU_POLYNOMIAL(chebyshevV, "special_chebyshev_polynomial_v");
    case SpecialBinaryOp::kChebyshevW:
      return DIPU_POLYNOMIAL(chebyshevW, "special_chebyshev_polynomial_w");
    case SpecialBinaryOp::kHermiteH:
      return DIPU_POLYNOMIAL(hermiteH, "special_hermite_polynomial_h");
    case SpecialBinaryOp::kHermiteHe:
      return DIPU_POLYNOMIAL(hermiteHe, "special_hermite_polynomial_he");
    case SpecialBinaryOp::kLaguerreL:
      return DIPU_POLYNOMIAL(laguerreL, "special_laguerre_polynomial_l");
    case SpecialBinaryOp::kLegendreP:
      return DIPU_POLYNOMIAL(legendreP, "special_legendre_polynomial_p");
    case SpecialBinaryOp::kShiftedChebyshevT:
      return DIPU_POLYNOMIAL(shiftedChebyshevT,
                             "special_shifted_chebyshev_polynomial_t");
    case SpecialBinaryOp::kShiftedChebyshevU:
      return DIPU_POLYNOMIAL(shiftedChebyshevU,
                             "special_shifted_chebyshev_polynomial_u");
    case SpecialBinaryOp::kShiftedChebyshevV:
      return DIPU_POLYNOMIAL(shiftedChebyshevV,
                             "special_shifted_chebyshev_polynomial_v");
    case SpecialBinaryOp::kShiftedChebyshevW:
      return DIPU_POLYNOMIAL(shiftedChebyshevW,
                             "special_shifted_chebyshev_polynomial_w");
    default:
      return {};
  }
}

#undef DIPU_POLYNOMIAL

// Without a name when there is no such function.
BinaryFunction functionOf(SpecialBinaryOp op) {
  switch (op) {
    case SpecialBinaryOp::kAtan2:
      return {"atan2", &arcTangent<float>, &arcTangent<double>};
    case SpecialBinaryOp::kHypot:
      return {"hypot", &hypotenuse<float>, &hypotenuse<double>};
    case SpecialBinaryOp::kLogAddExp:
      return inDouble<logAddExp>("logaddexp");
    case SpecialBinaryOp::kLogAddExp2:
      return inDouble<logAddExp2>("logaddexp2");
    case SpecialBinaryOp::kLowerGamma:
      return inDouble<special::lowerGamma>("igamma");
    case SpecialBinaryOp::kUpperGamma:
      return inDouble<special::upperGamma>("igammac");
    case SpecialBinaryOp::kXLog1pY:
      return inDouble<xLog1pY>("special_xlog1py");
    case SpecialBinaryOp::kXLogY:
      return inDouble<xLogY>("xlogy");
    case SpecialBinaryOp::kZeta:
      return inDouble<special::zeta>("special_zeta");
    default:
      return polynomialOf(op);
  }
}

}  // namespace

Status specialBinary(const Queue& queue, SpecialBinaryOp op,
                     const TensorView& out, const TensorView& a,
                     const TensorView& b) {
  const BinaryFunction function = functionOf(op);
  if (function.name == nullptr) {
    return fail(Status::kInvalid, "special function %d does not exist",
                static_cast<int>(op));
  }
  if (!isFloating(out.dtype)) return unsupportedDType(function.name, out.dtype);
  // See Note [Functions by pointer].
  if (computeTypeOf(out, a, b) == DType::kFloat64) {
    const special::BinaryCall<double> f{function.wide};
    return applyBinary<double, double>(queue, f, kCost, out, a, b);
  }
  const special::BinaryCall<float> f{function.single};
  return applyBinary<float, float>(queue, f, kCost, out, a, b);
}

}  // namespace dipu::kernels
