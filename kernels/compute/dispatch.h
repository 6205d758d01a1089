// SPDX-License-Identifier: Apache-2.0
//
// From a DType known at run time to a C++ type: dispatchX(dtype, body) calls
// body(TypeTag<T>()) and returns true, or returns false when dtype is not
// among the types of that dispatcher. Fewer types mean less code: kernels
// that only move elements dispatch on dispatchWidth.
#pragma once

#include "kernels/compute/dtype.h"

namespace dipu::kernels {

template <typename T>
struct TypeTag {
  using type = T;
};

template <typename... Types, typename Body>
inline bool dispatchAmong(DType dtype, const Body& body) {
  return ((dtype == kDTypeOf<Types> ? (body(TypeTag<Types>()), true) : false) ||
          ...);
}

// float32, float64, float16, bfloat16.
template <typename Body>
inline bool dispatchFloating(DType dtype, const Body& body) {
  return dispatchAmong<float, double, Float16, BFloat16>(dtype, body);
}

// int64, int32, int16, int8, uint8.
template <typename Body>
inline bool dispatchInteger(DType dtype, const Body& body) {
  return dispatchAmong<int64_t, int32_t, int16_t, int8_t, uint8_t>(dtype, body);
}

// The types of an index argument: int64 and int32.
template <typename Body>
inline bool dispatchIndex(DType dtype, const Body& body) {
  return dispatchAmong<int64_t, int32_t>(dtype, body);
}

// Floating, integer and bool.
template <typename Body>
inline bool dispatchAll(DType dtype, const Body& body) {
  return dispatchFloating(dtype, body) || dispatchInteger(dtype, body) ||
         dispatchAmong<bool>(dtype, body);
}

// uint8_t, uint16_t, uint32_t or uint64_t, by the width of an element.
template <typename Body>
inline bool dispatchWidth(DType dtype, const Body& body) {
  return dispatchAmong<uint32_t, uint64_t, uint16_t, uint8_t>(rawDType(dtype),
                                                              body);
}

}  // namespace dipu::kernels
