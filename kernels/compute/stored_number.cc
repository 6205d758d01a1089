// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/stored_number.h"

#include <cmath>
#include <limits>
#include <type_traits>

#include "kernels/compute/dispatch.h"

namespace dipu::kernels {
namespace {

// The largest finite number of a type.
template <typename T>
double largest() {
  if constexpr (std::is_same_v<T, Float16>) {
    return 65504.0;
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return static_cast<double>(bitCast<float>(0x7f7f0000U));
  } else {
    return static_cast<double>(std::numeric_limits<T>::max());
  }
}

template <typename T>
bool holdsWhole(int64_t value) {
  if constexpr (sizeof(T) == sizeof(value)) {
    return true;
  } else {
    constexpr auto kMost = static_cast<int64_t>(std::numeric_limits<T>::max());
    constexpr auto kLeast =
        static_cast<int64_t>(std::numeric_limits<T>::lowest());
    return value <= kMost && value >= (kLeast == 0 ? -kMost : kLeast);
  }
}

template <typename T>
bool holds(const Scalar& number) {
  if constexpr (std::is_same_v<T, bool>) {
    return true;
  } else if constexpr (!std::is_integral_v<T>) {
    const double value = number.to<double>();
    return !std::isfinite(value) || std::fabs(value) <= largest<T>();
  } else if (number.is_integer) {
    return holdsWhole<T>(number.i);
  } else {
    return number.d >= static_cast<double>(std::numeric_limits<T>::lowest()) &&
           number.d <= largest<T>();
  }
}

}  // namespace

Scalar storedNumber(const Scalar& number, DType dtype) {
  Scalar stored = number;
  const auto round = [&stored](auto tag) {
    using T = typename decltype(tag)::type;
    stored.d = convertValue<double>(convertValue<T>(stored.to<double>()));
    stored.is_integer = false;
  };
  const auto wrap = [&stored](auto tag) {
    using T = typename decltype(tag)::type;
    stored.i = convertValue<int64_t>(convertValue<T>(stored.i));
    stored.d = static_cast<double>(stored.i);
  };
  if (dispatchAmong<Float16, BFloat16>(dtype, round)) return stored;
  if (number.is_integer) {
    dispatchAmong<int8_t, uint8_t, int16_t, int32_t, bool>(dtype, wrap);
  }
  return stored;
}

Status checkNumber(const char* name, const Scalar& number, DType dtype) {
  bool fits = true;
  dispatchAll(dtype, [&](auto tag) {
    fits = holds<typename decltype(tag)::type>(number);
  });
  if (fits) return Status::kOk;
  return fail(Status::kInvalid,
              "%s: the value %.17g cannot be converted to %s without overflow",
              name, number.to<double>(), dtypeName(dtype));
}

}  // namespace dipu::kernels
