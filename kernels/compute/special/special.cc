// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/special/special.h"

#include <cmath>

#include "kernels/compute/compute_dispatch.h"
#include "kernels/compute/special/bessel.h"
#include "kernels/compute/special/error_function.h"
#include "kernels/compute/special/function_op.h"
#include "kernels/compute/special/gamma.h"

namespace dipu::kernels {
namespace {

using special::inDouble;
using special::UnaryFunction;

constexpr int32_t kCost = 64;

double entropy(double x) {
  if (x > 0) return -x * std::log(x);
  return x < 0 ? -special::kInfinity : x == 0 ? 0.0 : x;
}

double complement(double x) { return std::erfc(x); }

template <typename T>
T power2(T x) {
  return std::exp2(x);
}

template <typename T>
T cardinalSine(T x) {
  const T angle = T(special::kPi) * x;
  return x == 0 ? T(1) : std::sin(angle) / angle;
}

UnaryFunction besselFunction(SpecialOp op) {
  using namespace special;  // NOLINT(build/namespaces)
  switch (op) {
    case SpecialOp::kBesselJ0:
      return inDouble<besselJ0>("special_bessel_j0");
    case SpecialOp::kBesselJ1:
      return inDouble<besselJ1>("special_bessel_j1");
    case SpecialOp::kBesselY0:
      return inDouble<besselY0>("special_bessel_y0");
    case SpecialOp::kBesselY1:
      return inDouble<besselY1>("special_bessel_y1");
    case SpecialOp::kI0:
      return inDouble<besselI0>("i0");
    case SpecialOp::kI0e:
      return inDouble<scaledBesselI0>("special_i0e");
    case SpecialOp::kI1:
      return inDouble<besselI1>("special_i1");
    case SpecialOp::kI1e:
      return inDouble<scaledBesselI1>("special_i1e");
    case SpecialOp::kK0:
      return inDouble<besselK0>("special_modified_bessel_k0");
    case SpecialOp::kK0e:
      return inDouble<scaledBesselK0>("special_scaled_modified_bessel_k0");
    case SpecialOp::kK1:
      return inDouble<besselK1>("special_modified_bessel_k1");
    case SpecialOp::kK1e:
      return inDouble<scaledBesselK1>("special_scaled_modified_bessel_k1");
    case SpecialOp::kSphericalJ0:
      return inDouble<sphericalBesselJ0>("special_spherical_bessel_j0");
    default:
      return {};
  }
}

// Without a name when there is no such function.
UnaryFunction functionOf(SpecialOp op) {
  using namespace special;  // NOLINT(build/namespaces)
  switch (op) {
    case SpecialOp::kAiryAi:
      return inDouble<airyAi>("special_airy_ai");
    case SpecialOp::kDigamma:
      return inDouble<digamma>("digamma");
    case SpecialOp::kEntr:
      return inDouble<entropy>("special_entr");
    case SpecialOp::kErfc:
      return inDouble<complement>("erfc");
    case SpecialOp::kErfcx:
      return inDouble<scaledErfc>("special_erfcx");
    case SpecialOp::kExp2:
      return {"exp2", &power2<float>, &power2<double>};
    case SpecialOp::kLgamma:
      return inDouble<logGamma>("lgamma");
    case SpecialOp::kLogNdtr:
      return inDouble<logNormal>("special_log_ndtr");
    case SpecialOp::kNdtri:
      return inDouble<inverseNormal>("special_ndtri");
    case SpecialOp::kSinc:
      return {"sinc", &cardinalSine<float>, &cardinalSine<double>};
    default:
      return besselFunction(op);
  }
}

Status apply(const Queue& queue, const UnaryFunction& function,
             const TensorView& out, const TensorView& input) {
  if (!isFloating(out.dtype)) return unsupportedDType(function.name, out.dtype);
  if (computeTypeOf(out, input) == DType::kFloat64) {
    return applyUnary<double>(queue, special::UnaryCall<double>{function.wide},
                              kCost, out, input);
  }
  return applyUnary<float>(queue, special::UnaryCall<float>{function.single},
                           kCost, out, input);
}

template <typename T>
struct Polygamma {
  int64_t n;
  T operator()(T x) const {
    if (n == 1) return special::trigamma(x);
    return static_cast<T>(special::polygamma(n, x));
  }
};

}  // namespace

Status specialUnary(const Queue& queue, SpecialOp op, const TensorView& out,
                    const TensorView& input) {
  const UnaryFunction function = functionOf(op);
  if (function.name == nullptr) {
    return fail(Status::kInvalid, "special function %d does not exist",
                static_cast<int>(op));
  }
  return apply(queue, function, out, input);
}

Status polygamma(const Queue& queue, const TensorView& out, int64_t n,
                 const TensorView& input) {
  if (n < 0) {
    return fail(Status::kInvalid, "polygamma of the negative order %lld",
                static_cast<long long>(n));
  }
  Status status = Status::kOk;
  const bool known =
      isFloating(out.dtype) &&
      dispatchReal(computeTypeOf(out, input), [&](auto tag) {
        using T = typename decltype(tag)::type;
        status = applyUnary<T>(queue, Polygamma<T>{n}, kCost, out, input);
      });
  return known ? status : unsupportedDType("polygamma", out.dtype);
}

}  // namespace dipu::kernels
