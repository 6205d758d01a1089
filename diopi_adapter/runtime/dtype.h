// SPDX-License-Identifier: Apache-2.0
//
// Element types: torch's numbers and DIOPI's.
#pragma once

#include <c10/core/ScalarType.h>
#include <diopi/diopirt.h>

namespace dipu::adapter {

// DIOPI's code of `type`; diopi_dtype_unsupported for types that DIOPI does
// not have, which operator libraries refuse. Branch-free after inlining.
constexpr diopiDtype_t diopiDtype(c10::ScalarType type) noexcept {
  switch (type) {
    case c10::ScalarType::Byte:
      return diopi_dtype_uint8;
    case c10::ScalarType::Char:
      return diopi_dtype_int8;
    case c10::ScalarType::Short:
      return diopi_dtype_int16;
    case c10::ScalarType::Int:
      return diopi_dtype_int32;
    case c10::ScalarType::Long:
      return diopi_dtype_int64;
    case c10::ScalarType::UInt16:
      return diopi_dtype_uint16;
    case c10::ScalarType::UInt32:
      return diopi_dtype_uint32;
    case c10::ScalarType::UInt64:
      return diopi_dtype_uint64;
    case c10::ScalarType::Half:
      return diopi_dtype_float16;
    case c10::ScalarType::BFloat16:
      return diopi_dtype_bfloat16;
    case c10::ScalarType::Float:
      return diopi_dtype_float32;
    case c10::ScalarType::Double:
      return diopi_dtype_float64;
    case c10::ScalarType::Bool:
      return diopi_dtype_bool;
    case c10::ScalarType::ComplexHalf:
      return diopi_dtype_complex32;
    case c10::ScalarType::ComplexFloat:
      return diopi_dtype_complex64;
    case c10::ScalarType::ComplexDouble:
      return diopi_dtype_complex128;
    default:
      return diopi_dtype_unsupported;
  }
}

// Torch's type of a DIOPI code; Undefined for codes that torch does not have.
constexpr c10::ScalarType torchDtype(diopiDtype_t code) noexcept {
  switch (code) {
    case diopi_dtype_uint8:
      return c10::ScalarType::Byte;
    case diopi_dtype_int8:
      return c10::ScalarType::Char;
    case diopi_dtype_int16:
      return c10::ScalarType::Short;
    case diopi_dtype_int32:
      return c10::ScalarType::Int;
    case diopi_dtype_int64:
      return c10::ScalarType::Long;
    case diopi_dtype_uint16:
      return c10::ScalarType::UInt16;
    case diopi_dtype_uint32:
      return c10::ScalarType::UInt32;
    case diopi_dtype_uint64:
      return c10::ScalarType::UInt64;
    case diopi_dtype_float16:
      return c10::ScalarType::Half;
    case diopi_dtype_bfloat16:
      return c10::ScalarType::BFloat16;
    case diopi_dtype_float32:
      return c10::ScalarType::Float;
    case diopi_dtype_float64:
      return c10::ScalarType::Double;
    case diopi_dtype_bool:
      return c10::ScalarType::Bool;
    case diopi_dtype_complex32:
      return c10::ScalarType::ComplexHalf;
    case diopi_dtype_complex64:
      return c10::ScalarType::ComplexFloat;
    case diopi_dtype_complex128:
      return c10::ScalarType::ComplexDouble;
    default:
      return c10::ScalarType::Undefined;
  }
}

}  // namespace dipu::adapter
