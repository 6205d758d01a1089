// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "kernels/compute/compute_dispatch.h"
#include "kernels/compute/math.h"
#include "kernels/compute/unary.h"

namespace dipu::kernels {
namespace {

// Costs relative to an addition: what vectorises, and what calls libm.
constexpr int32_t kVector = 6;
constexpr int32_t kLibrary = 32;

// Enqueues out = f(input) in float32 or float64.
template <typename F>
Status real(const Queue& queue, const char* name, const TensorView& out,
            const TensorView& input, int32_t cost, const F& f) {
  Status status = Status::kOk;
  const bool known = isFloating(out.dtype) &&
                     dispatchReal(computeTypeOf(out, input), [&](auto tag) {
                       using T = typename decltype(tag)::type;
                       status = applyUnary<T>(queue, f, cost, out, input);
                     });
  return known ? status : unsupportedDType(name, out.dtype);
}

// A sine or cosine: bounded arguments vectorise, and blocks that hold a larger
// one call the C library.
template <typename Bounded, typename Any>
struct TrigonometricLoop {
  static void run(const void*, void* const* p, int64_t count) {
    constexpr int64_t kBlock = 256;
    float* out = static_cast<float*>(p[0]);
    const float* in = static_cast<const float*>(p[1]);
    for (int64_t begin = 0; begin < count; begin += kBlock) {
      const int64_t end = begin + kBlock < count ? begin + kBlock : count;
      int32_t large = 0;
      for (int64_t i = begin; i < end; ++i) {
        large |= __builtin_fabsf(in[i]) > math::kTrigonometricBound ? 1 : 0;
      }
      if (large != 0) {
        for (int64_t i = begin; i < end; ++i) out[i] = Any()(in[i]);
      } else {
#pragma GCC ivdep
        for (int64_t i = begin; i < end; ++i) out[i] = Bounded()(in[i]);
      }
    }
  }
};

struct SinBounded {
  float operator()(float x) const { return math::sinBounded(x); }
};
struct CosBounded {
  float operator()(float x) const { return math::cosBounded(x); }
};
struct Sin {
  template <typename T>
  T operator()(T x) const {
    return math::sin(x);
  }
};
struct Cos {
  template <typename T>
  T operator()(T x) const {
    return math::cos(x);
  }
};

template <typename Bounded, typename Any>
Status trigonometric(const Queue& queue, const char* name,
                     const TensorView& out, const TensorView& input) {
  if (!isFloating(out.dtype) || computeTypeOf(out, input) != DType::kFloat32) {
    return real(queue, name, out, input, kLibrary, Any());
  }
  Kernel kernel = makeKernel<Any, float, float>(kVector);
  kernel.loop = &TrigonometricLoop<Bounded, Any>::run;
  return elementwise(queue, kernel, Any(), {&out, &input});
}

// Winitzki's closed form, then three Halley steps on erf in double.
double inverseErf(double y) {
  if (!(y > -1.0 && y < 1.0)) {
    if (y == 1.0 || y == -1.0) {
      return std::copysign(std::numeric_limits<double>::infinity(), y);
    }
    return std::numeric_limits<double>::quiet_NaN();
  }
  if (y == 0.0) return y;
  constexpr double kA = 0.147;
  constexpr double kTwoOverSqrtPi = 1.12837916709551257390;
  const double l = std::log1p(-y * y);
  const double t = 2.0 / (3.14159265358979323846 * kA) + 0.5 * l;
  double x = std::copysign(std::sqrt(std::sqrt(t * t - l / kA) - t), y);
  for (int step = 0; step < 3; ++step) {
    // Near 1 the difference is taken between the complements.
    const double difference =
        std::fabs(y) < 0.5 ? std::erf(x) - y
                           : std::copysign(1.0, y) * ((1.0 - std::fabs(y)) -
                                                      std::erfc(std::fabs(x)));
    const double newton = difference / (kTwoOverSqrtPi * std::exp(-x * x));
    x -= newton / (1.0 + x * newton);
  }
  return x;
}

// Functions without a vectorised form.
Status realByLibrary(const Queue& queue, UnaryOp op, const TensorView& out,
                     const TensorView& input) {
  const auto apply = [&](const char* name, auto f) {
    return real(queue, name, out, input, kLibrary, f);
  };
  switch (op) {
    case UnaryOp::kExpm1:
      return apply("expm1", [](auto x) { return std::expm1(x); });
    case UnaryOp::kLog10:
      return apply("log10", [](auto x) { return std::log10(x); });
    case UnaryOp::kLog1p:
      return apply("log1p", [](auto x) { return std::log1p(x); });
    case UnaryOp::kTan:
      return apply("tan", [](auto x) { return std::tan(x); });
    case UnaryOp::kAsin:
      return apply("asin", [](auto x) { return std::asin(x); });
    case UnaryOp::kAcos:
      return apply("acos", [](auto x) { return std::acos(x); });
    case UnaryOp::kAtan:
      return apply("atan", [](auto x) { return std::atan(x); });
    case UnaryOp::kSinh:
      return apply("sinh", [](auto x) { return std::sinh(x); });
    case UnaryOp::kCosh:
      return apply("cosh", [](auto x) { return std::cosh(x); });
    case UnaryOp::kAsinh:
      return apply("asinh", [](auto x) { return std::asinh(x); });
    case UnaryOp::kAcosh:
      return apply("acosh", [](auto x) { return std::acosh(x); });
    case UnaryOp::kAtanh:
      return apply("atanh", [](auto x) { return std::atanh(x); });
    case UnaryOp::kErfinv:
      return apply("erfinv", [](auto x) {
        return static_cast<decltype(x)>(inverseErf(x));
      });
    default:
      return fail(Status::kInvalid, "unary operator %d does not exist",
                  static_cast<int>(op));
  }
}

}  // namespace

Status unaryReal(const Queue& queue, UnaryOp op, const TensorView& out,
                 const TensorView& input) {
  const auto apply = [&](const char* name, int32_t cost, auto f) {
    return real(queue, name, out, input, cost, f);
  };
  switch (op) {
    case UnaryOp::kExp:
      return apply("exp", kVector, [](auto x) { return math::exp(x); });
    case UnaryOp::kLog:
      return apply("log", kVector, [](auto x) { return math::log(x); });
    case UnaryOp::kLog2:
      return apply("log2", kVector, [](auto x) { return math::log2(x); });
    case UnaryOp::kSqrt:
      return apply("sqrt", 2, [](auto x) { return std::sqrt(x); });
    case UnaryOp::kRsqrt:
      return apply("rsqrt", 3, [](auto x) {
        return static_cast<decltype(x)>(1) / std::sqrt(x);
      });
    case UnaryOp::kReciprocal:
      return apply("reciprocal", 2,
                   [](auto x) { return static_cast<decltype(x)>(1) / x; });
    case UnaryOp::kSin:
      return trigonometric<SinBounded, Sin>(queue, "sin", out, input);
    case UnaryOp::kCos:
      return trigonometric<CosBounded, Cos>(queue, "cos", out, input);
    case UnaryOp::kTanh:
      return apply("tanh", kVector, [](auto x) { return math::tanh(x); });
    case UnaryOp::kSigmoid:
      return apply("sigmoid", kVector, [](auto x) { return math::sigmoid(x); });
    case UnaryOp::kErf:
      return apply("erf", kVector, [](auto x) { return math::erf(x); });
    default:
      return realByLibrary(queue, op, out, input);
  }
}

}  // namespace dipu::kernels
