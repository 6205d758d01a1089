// SPDX-License-Identifier: Apache-2.0
#include <type_traits>

#include "kernels/compute/binary.h"
#include "kernels/compute/compute_dispatch.h"

namespace dipu::kernels {
namespace {

// A division per step, and some tens of steps.
constexpr int32_t kDivisorCost = 128;

// Enqueues out = f(a, b) for integers other than bool.
template <typename F>
Status integers(const Queue& queue, const char* name, int32_t cost,
                const TensorView& out, const TensorView& a, const TensorView& b,
                const F& f) {
  if (a.dtype == DType::kBool || b.dtype == DType::kBool) {
    return unsupportedDType(name, DType::kBool);
  }
  Status status = Status::kOk;
  const bool known =
      dispatchAmong<int32_t, int64_t>(computeTypeOf(out, a, b), [&](auto tag) {
        using T = typename decltype(tag)::type;
        status = applyBinary<T, T>(queue, f, cost, out, a, b);
      });
  return known ? status : unsupportedDType(name, a.dtype);
}

template <typename T>
T magnitude(T x) {
  return x < 0 ? static_cast<T>(-x) : x;
}

// By Euclid's algorithm, on non-positive numbers: those have no overflow.
template <typename T>
T commonDivisor(T a, T b) {
  a = a > 0 ? -a : a;
  b = b > 0 ? -b : b;
  while (a != 0) {
    const T rest = a == T(-1) ? T(0) : b % a;
    b = a;
    a = rest;
  }
  return static_cast<T>(-b);
}

template <typename T>
inline constexpr T kWidth = T(8 * sizeof(T));

template <typename T>
bool isWithin(T count) {
  return count >= 0 && count < kWidth<T>;
}

}  // namespace

Status gcd(const Queue& queue, const TensorView& out, const TensorView& a,
           const TensorView& b) {
  return integers(queue, "gcd", kDivisorCost, out, a, b,
                  [](auto x, auto y) { return commonDivisor(x, y); });
}

Status lcm(const Queue& queue, const TensorView& out, const TensorView& a,
           const TensorView& b) {
  return integers(queue, "lcm", kDivisorCost, out, a, b, [](auto x, auto y) {
    using T = decltype(x);
    const T divisor = commonDivisor(x, y);
    if (divisor == 0) return T(0);
    return magnitude(static_cast<T>(x / divisor * y));
  });
}

Status shiftLeft(const Queue& queue, const TensorView& out, const TensorView& a,
                 const TensorView& b) {
  return integers(queue, "bitwise_left_shift", 1, out, a, b,
                  [](auto x, auto count) {
                    using T = decltype(x);
                    using Bits = std::make_unsigned_t<T>;
                    if (!isWithin(count)) return T(0);
                    return static_cast<T>(static_cast<Bits>(x) << count);
                  });
}

Status shiftRight(const Queue& queue, const TensorView& out,
                  const TensorView& a, const TensorView& b) {
  return integers(queue, "bitwise_right_shift", 1, out, a, b,
                  [](auto x, auto count) {
                    using T = decltype(x);
                    const T steps = isWithin(count) ? count : kWidth<T> - 1;
                    return static_cast<T>(x >> steps);
                  });
}

}  // namespace dipu::kernels
