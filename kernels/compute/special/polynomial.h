// SPDX-License-Identifier: Apache-2.0
//
// Orthogonal polynomials of degree n at one number: DLMF 18.5 for the closed
// forms and 18.9 for the recurrences. Degrees are whole numbers; a negative
// one gives 0. Values that overflow become NaN, as PyTorch's do, which is why
// float is computed in float.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace dipu::kernels::special {

// From this degree on the closed forms are used inside (-1, 1).
inline constexpr int64_t kClosedForm = 8;

// p_n for the recurrence p_(k+1) = next(k, p_k, p_(k-1)), from p_0 and p_1.
template <typename T, typename Next>
T recur(int64_t n, T p0, T p1, const Next& next) {
  if (n <= 0) return n == 0 ? p0 : T(0);
  T before = p0;
  T value = p1;
  for (int64_t k = 1; k < n && value == value; ++k) {
    const T following = next(static_cast<T>(k), value, before);
    before = value;
    value = following;
  }
  return value;
}

// The Chebyshev polynomials differ in p_1 only.
template <typename T>
T recurChebyshev(int64_t n, T x, T p1) {
  return recur(n, T(1), p1,
               [x](T, T p, T before) { return (x + x) * p - before; });
}

template <typename T>
T alternating(int64_t n) {
  return n % 2 == 0 ? T(1) : T(-1);
}

template <typename T>
bool usesClosedForm(int64_t n, T x) {
  return n > kClosedForm && std::fabs(x) < T(1);
}

// First kind: cos(n t) for x = cos t.
template <typename T>
T chebyshevT(T x, int64_t n) {
  if (n < 0) return T(0);
  if (x == T(1)) return T(1);
  if (x == T(-1)) return alternating<T>(n);
  if (usesClosedForm(n, x)) {
    return std::cos(static_cast<T>(n) * std::acos(x));
  }
  return recurChebyshev(n, x, x);
}

// Second kind: sin((n + 1) t) / sin t.
template <typename T>
T chebyshevU(T x, int64_t n) {
  if (n < 0) return T(0);
  const T count = static_cast<T>(n) + T(1);
  if (x == T(1)) return count;
  if (x == T(-1)) return alternating<T>(n) * count;
  if (usesClosedForm(n, x)) {
    const T angle = std::acos(x);
    return std::sin(count * angle) / std::sin(angle);
  }
  return recurChebyshev(n, x, x + x);
}

// Third kind: cos((n + 1/2) t) / cos(t / 2).
template <typename T>
T chebyshevV(T x, int64_t n) {
  if (n < 0) return T(0);
  const T count = static_cast<T>(n) + static_cast<T>(n) + T(1);
  if (x == T(1)) return T(1);
  if (x == T(-1)) return alternating<T>(n) * count;
  if (usesClosedForm(n, x)) {
    const T half = std::acos(x) / T(2);
    return std::cos(count * half) / std::cos(half);
  }
  return recurChebyshev(n, x, x + x - T(1));
}

// Fourth kind: sin((n + 1/2) t) / sin(t / 2).
template <typename T>
T chebyshevW(T x, int64_t n) {
  if (n < 0) return T(0);
  const T count = static_cast<T>(n) + static_cast<T>(n) + T(1);
  if (x == T(1)) return count;
  if (x == T(-1)) return alternating<T>(n);
  if (usesClosedForm(n, x)) {
    const T half = std::acos(x) / T(2);
    return std::sin(count * half) / std::sin(half);
  }
  return recurChebyshev(n, x, x + x + T(1));
}

// The Chebyshev polynomials on [0, 1].
template <typename T>
T shiftedChebyshevT(T x, int64_t n) {
  return chebyshevT(x + x - T(1), n);
}
template <typename T>
T shiftedChebyshevU(T x, int64_t n) {
  return chebyshevU(x + x - T(1), n);
}
template <typename T>
T shiftedChebyshevV(T x, int64_t n) {
  return chebyshevV(x + x - T(1), n);
}
template <typename T>
T shiftedChebyshevW(T x, int64_t n) {
  return chebyshevW(x + x - T(1), n);
}

// The degree above which Hermite polynomials are refused with NaN.
template <typename T>
inline constexpr int64_t kHermiteLimit = sizeof(T) == sizeof(float) ? 128 : 512;

// The physicists' Hermite polynomials.
template <typename T>
T hermiteH(T x, int64_t n) {
  if (n > kHermiteLimit<T>) return std::numeric_limits<T>::quiet_NaN();
  return recur(n, T(1), x + x, [x](T k, T p, T before) {
    return (x + x) * p - (k + k) * before;
  });
}

// The probabilists' Hermite polynomials.
template <typename T>
T hermiteHe(T x, int64_t n) {
  if (n > kHermiteLimit<T>) return std::numeric_limits<T>::quiet_NaN();
  return recur(n, T(1), x,
               [x](T k, T p, T before) { return x * p - k * before; });
}

template <typename T>
T laguerreL(T x, int64_t n) {
  if (n >= 0 && x == T(0)) return T(1);
  return recur(n, T(1), T(1) - x, [x](T k, T p, T before) {
    return ((k + k + (T(1) - x)) * p - k * before) / (k + T(1));
  });
}

template <typename T>
T legendreP(T x, int64_t n) {
  if (n >= 0 && x == T(1)) return T(1);
  if (n >= 0 && x == T(-1)) return alternating<T>(n);
  return recur(n, T(1), x, [x](T k, T p, T before) {
    return ((k + k + T(1)) * x * p - k * before) / (k + T(1));
  });
}

}  // namespace dipu::kernels::special
