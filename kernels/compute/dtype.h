// SPDX-License-Identifier: Apache-2.0
//
// C++ types behind DType. The 16-bit floating types only store: kernels load
// them as float, compute in float and round once when they store.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

template <typename To, typename From>
inline To bitCast(const From& from) {
  static_assert(sizeof(To) == sizeof(From), "sizes differ");
  To to;
  std::memcpy(&to, &from, sizeof(To));
  return to;
}

// IEEE 754 binary16, rounded to nearest even.
struct Float16 {
  uint16_t bits;

  Float16() = default;
  explicit Float16(float value)
      : bits(static_cast<uint16_t>(_cvtss_sh(value, 0))) {}
  explicit operator float() const { return _cvtsh_ss(bits); }
};

// The upper half of a binary32, rounded to nearest even; NaN stays NaN.
struct BFloat16 {
  uint16_t bits;

  BFloat16() = default;
  explicit BFloat16(float value) {
    const auto word = bitCast<uint32_t>(value);
    const uint32_t rounded = (word + 0x7fffU + ((word >> 16) & 1U)) >> 16;
    bits = static_cast<uint16_t>(value != value ? 0x7fc0U : rounded);
  }
  explicit operator float() const {
    return bitCast<float>(static_cast<uint32_t>(bits) << 16);
  }
};

// The type in which a kernel computes on stored values of type T.
template <typename T>
struct ComputeTypeOf {
  using type = T;
};
template <>
struct ComputeTypeOf<Float16> {
  using type = float;
};
template <>
struct ComputeTypeOf<BFloat16> {
  using type = float;
};
template <typename T>
using ComputeType = typename ComputeTypeOf<T>::type;

template <typename T>
inline constexpr bool kIs16BitFloat =
    std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;

// Converts between any two element types as PyTorch's CPU copy does: to bool
// by comparing with zero, to small integers by wrapping, from floating point
// by truncation.
template <typename To, typename From>
inline To convertValue(From from) {
  if constexpr (std::is_same_v<To, From>) {
    return from;
  } else if constexpr (kIs16BitFloat<From>) {
    return convertValue<To>(static_cast<float>(from));
  } else if constexpr (kIs16BitFloat<To>) {
    return To(static_cast<float>(from));
  } else if constexpr (std::is_same_v<To, bool>) {
    return from != From(0);
  } else if constexpr (std::is_floating_point_v<From> && sizeof(To) < 4 &&
                       std::is_integral_v<To>) {
    // Through a signed type: negative values wrap instead of being undefined.
    using Wide = std::conditional_t<sizeof(From) == 8, int64_t, int32_t>;
    return static_cast<To>(static_cast<Wide>(from));
  } else if constexpr (std::is_floating_point_v<From> &&
                       std::is_unsigned_v<To>) {
    return static_cast<To>(static_cast<int64_t>(from));
  } else {
    return static_cast<To>(from);
  }
}

template <typename T>
inline constexpr DType kDTypeOf = DType(-1);
template <>
inline constexpr DType kDTypeOf<int8_t> = DType::kInt8;
template <>
inline constexpr DType kDTypeOf<uint8_t> = DType::kUInt8;
template <>
inline constexpr DType kDTypeOf<int16_t> = DType::kInt16;
template <>
inline constexpr DType kDTypeOf<uint16_t> = DType::kUInt16;
template <>
inline constexpr DType kDTypeOf<int32_t> = DType::kInt32;
template <>
inline constexpr DType kDTypeOf<uint32_t> = DType::kUInt32;
template <>
inline constexpr DType kDTypeOf<int64_t> = DType::kInt64;
template <>
inline constexpr DType kDTypeOf<uint64_t> = DType::kUInt64;
template <>
inline constexpr DType kDTypeOf<Float16> = DType::kFloat16;
template <>
inline constexpr DType kDTypeOf<float> = DType::kFloat32;
template <>
inline constexpr DType kDTypeOf<double> = DType::kFloat64;
template <>
inline constexpr DType kDTypeOf<bool> = DType::kBool;
template <>
inline constexpr DType kDTypeOf<BFloat16> = DType::kBFloat16;

// Bytes of one element, 0 for a type without a DType.
inline std::size_t itemSize(DType dtype) {
  static constexpr unsigned char kSizes[kDTypeCount] = {1, 1, 2, 2, 4, 4, 8,
                                                        8, 2, 4, 8, 1, 2};
  const auto index = static_cast<unsigned>(dtype);
  return index < static_cast<unsigned>(kDTypeCount) ? kSizes[index] : 0;
}

inline bool isFloating(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat64 ||
         dtype == DType::kFloat16 || dtype == DType::kBFloat16;
}

// The unsigned type as wide as `dtype`, for kernels that only move elements.
// Returns `dtype` itself when it is unknown.
inline DType rawDType(DType dtype) {
  switch (itemSize(dtype)) {
    case 1:
      return DType::kUInt8;
    case 2:
      return DType::kUInt16;
    case 4:
      return DType::kUInt32;
    case 8:
      return DType::kUInt64;
    default:
      return dtype;
  }
}

}  // namespace dipu::kernels
