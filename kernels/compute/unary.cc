// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/unary.h"

#include <cmath>
#include <type_traits>

#include "kernels/compute/compute_dispatch.h"

namespace dipu::kernels {
namespace {

// Enqueues out = f(input) in any computing type.
template <typename F>
Status any(const Queue& queue, const char* name, const TensorView& out,
           const TensorView& input, const F& f) {
  Status status = Status::kOk;
  const bool known = dispatchCompute(computeTypeOf(out, input), [&](auto tag) {
    using T = typename decltype(tag)::type;
    status = applyUnary<T>(queue, f, 1, out, input);
  });
  return known ? status : unsupportedDType(name, input.dtype);
}

// Rounding leaves integers as they are.
template <typename F>
Status rounding(const Queue& queue, const char* name, const TensorView& out,
                const TensorView& input, const F& f) {
  if (!isFloating(input.dtype)) return convertTensor(queue, out, input);
  Status status = Status::kOk;
  const bool known = dispatchReal(computeTypeOf(out, input), [&](auto tag) {
    using T = typename decltype(tag)::type;
    status = applyUnary<T>(queue, f, 1, out, input);
  });
  return known ? status : unsupportedDType(name, input.dtype);
}

Status bitwiseNot(const Queue& queue, const TensorView& out,
                  const TensorView& input) {
  if (input.dtype == DType::kBool) {
    return unary(queue, UnaryOp::kLogicalNot, out, input);
  }
  if (isFloating(input.dtype))
    return unsupportedDType("bitwise_not", input.dtype);
  Status status = Status::kOk;
  const bool known =
      dispatchAmong<int32_t, int64_t>(computeTypeOf(out, input), [&](auto tag) {
        using T = typename decltype(tag)::type;
        const auto f = [](T x) { return static_cast<T>(~x); };
        status = applyUnary<T>(queue, f, 1, out, input);
      });
  return known ? status : unsupportedDType("bitwise_not", input.dtype);
}

Status logicalNot(const Queue& queue, const TensorView& out,
                  const TensorView& input) {
  const auto f = [](bool x) { return !x; };
  return applyUnary<bool>(queue, f, 1, out, input);
}

struct IsNan {
  template <typename T>
  bool operator()(T x) const {
    return x != x;
  }
};

Status isNan(const Queue& queue, const TensorView& out,
             const TensorView& input) {
  if (input.dtype == DType::kFloat64) {
    constexpr Kernel kKernel = makeKernel<IsNan, bool, double>();
    return elementwise(queue, kKernel, IsNan(), {&out, &input});
  }
  constexpr Kernel kKernel = makeKernel<IsNan, bool, float>();
  return elementwise(queue, kKernel, IsNan(), {&out, &input});
}

}  // namespace

Status unary(const Queue& queue, UnaryOp op, const TensorView& out,
             const TensorView& input) {
  switch (op) {
    case UnaryOp::kNeg:
      return any(queue, "neg", out, input,
                 [](auto x) { return static_cast<decltype(x)>(-x); });
    case UnaryOp::kAbs:
      return any(queue, "abs", out, input, [](auto x) {
        if constexpr (std::is_floating_point_v<decltype(x)>) {
          return std::fabs(x);
        } else {
          return x < 0 ? -x : x;
        }
      });
    case UnaryOp::kSign:
      return any(queue, "sign", out, input, [](auto x) {
        using T = decltype(x);
        return static_cast<T>((x > T(0) ? T(1) : T(0)) -
                              (x < T(0) ? T(1) : T(0)));
      });
    case UnaryOp::kRelu:
      return any(queue, "relu", out, input, [](auto x) {
        using T = decltype(x);
        return x < T(0) ? T(0) : x;
      });
    case UnaryOp::kFloor:
      return rounding(queue, "floor", out, input,
                      [](auto x) { return std::floor(x); });
    case UnaryOp::kCeil:
      return rounding(queue, "ceil", out, input,
                      [](auto x) { return std::ceil(x); });
    case UnaryOp::kBitwiseNot:
      return bitwiseNot(queue, out, input);
    case UnaryOp::kLogicalNot:
      return logicalNot(queue, out, input);
    case UnaryOp::kIsNan:
      return isNan(queue, out, input);
    default:
      return unaryReal(queue, op, out, input);
  }
}

}  // namespace dipu::kernels
