// SPDX-License-Identifier: Apache-2.0
//
// The ways of index_combine.h in which two values become one.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/compute/dispatch.h"
#include "kernels/compute/elementwise.h"
#include "kernels/compute/index_combine.h"

namespace dipu::kernels {

// T is float, double or int64_t. Integers wrap.
template <typename T>
struct SumFold {
  using Type = T;
  static constexpr T kStart = 0;
  static T apply(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<uint64_t>(a) +
                            static_cast<uint64_t>(b));
    } else {
      return a + b;
    }
  }
};

template <typename T>
struct ProductFold {
  using Type = T;
  static constexpr T kStart = 1;
  static T apply(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<uint64_t>(a) *
                            static_cast<uint64_t>(b));
    } else {
      return a * b;
    }
  }
};

template <typename T>
struct MaxFold {
  using Type = T;
  static constexpr T kStart = std::is_integral_v<T>
                                  ? std::numeric_limits<T>::min()
                                  : -std::numeric_limits<T>::infinity();
  static T apply(T a, T b) { return b > a || b != b ? b : a; }
};

template <typename T>
struct MinFold {
  using Type = T;
  static constexpr T kStart = std::is_integral_v<T>
                                  ? std::numeric_limits<T>::max()
                                  : std::numeric_limits<T>::infinity();
  static T apply(T a, T b) { return b < a || b != b ? b : a; }
};

// total / count, rounded down for integers.
template <typename T>
T meanOf(T total, int64_t count) {
  if constexpr (std::is_integral_v<T>) {
    const T quotient = total / count;
    return total % count < 0 ? quotient - 1 : quotient;
  } else {
    return total / static_cast<T>(count);
  }
}

// The type in which elements of `dtype` are combined.
inline DType foldType(DType dtype) {
  const DType compute = computeDType(dtype);
  return compute == DType::kInt32 ? DType::kInt64 : compute;
}

// Calls body(Fold()) for `combine` over the type `compute`; a mean is summed.
// False for types that foldType does not give.
template <typename Body>
bool dispatchFold(Combine combine, DType compute, const Body& body) {
  return dispatchAmong<float, double, int64_t>(compute, [&](auto tag) {
    using T = typename decltype(tag)::type;
    switch (combine) {
      case Combine::kSum:
      case Combine::kMean:
        return body(SumFold<T>());
      case Combine::kProduct:
        return body(ProductFold<T>());
      case Combine::kMax:
        return body(MaxFold<T>());
      case Combine::kMin:
        return body(MinFold<T>());
    }
  });
}

}  // namespace dipu::kernels
