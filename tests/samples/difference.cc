// SPDX-License-Identifier: Apache-2.0
#include "tests/samples/difference.h"

#include <diopi/diopirt.h>

#include <cmath>
#include <cstring>
#include <sstream>
#include <stdexcept>

namespace dipu::samples {
namespace {

template <typename T>
T read(const Bytes& bytes, std::size_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

double fromFloat16(uint16_t bits) {
  const int exponent = (bits >> 10) & 0x1f;
  const int fraction = bits & 0x3ff;
  double value = 0;
  if (exponent == 0x1f) {
    value = fraction == 0 ? INFINITY : NAN;
  } else if (exponent == 0) {
    value = std::ldexp(fraction, -24);
  } else {
    value = std::ldexp(fraction + 0x400, exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -value : value;
}

double fromBfloat16(uint16_t bits) {
  const uint32_t wide = uint32_t{bits} << 16;
  float value;
  std::memcpy(&value, &wide, sizeof(value));
  return value;
}

bool isReal(int32_t dtype) {
  return dtype == diopi_dtype_float16 || dtype == diopi_dtype_bfloat16 ||
         dtype == diopi_dtype_float32 || dtype == diopi_dtype_float64;
}

double realAt(int32_t dtype, const Bytes& bytes, std::size_t index) {
  switch (dtype) {
    case diopi_dtype_float16:
      return fromFloat16(read<uint16_t>(bytes, index));
    case diopi_dtype_bfloat16:
      return fromBfloat16(read<uint16_t>(bytes, index));
    case diopi_dtype_float32:
      return read<float>(bytes, index);
    default:
      return read<double>(bytes, index);
  }
}

int64_t integerAt(int32_t dtype, const Bytes& bytes, std::size_t index) {
  switch (dtype) {
    case diopi_dtype_int8:
      return read<int8_t>(bytes, index);
    case diopi_dtype_int16:
      return read<int16_t>(bytes, index);
    case diopi_dtype_int32:
      return read<int32_t>(bytes, index);
    case diopi_dtype_int64:
      return read<int64_t>(bytes, index);
    default:
      return read<uint8_t>(bytes, index);
  }
}

bool areClose(double a, double b, double tolerance) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (std::isinf(a) || std::isinf(b)) return a == b;
  return std::fabs(a - b) <= tolerance * (1 + std::fabs(b));
}

template <typename T>
std::string describe(std::size_t index, T got, T expected) {
  std::ostringstream text;
  text.precision(17);
  text << "element " << index << " is " << got << " instead of " << expected;
  return text.str();
}

}  // namespace

std::size_t itemSize(int32_t dtype) {
  switch (dtype) {
    case diopi_dtype_int8:
    case diopi_dtype_uint8:
    case diopi_dtype_bool:
      return 1;
    case diopi_dtype_int16:
    case diopi_dtype_float16:
    case diopi_dtype_bfloat16:
      return 2;
    case diopi_dtype_int32:
    case diopi_dtype_float32:
      return 4;
    case diopi_dtype_int64:
    case diopi_dtype_float64:
      return 8;
    default:
      throw std::runtime_error("samples have no tensors of diopiDtype_t " +
                               std::to_string(dtype));
  }
}

std::string difference(int32_t dtype, double tolerance, const Bytes& got,
                       const Bytes& expected) {
  if (got.size() != expected.size()) {
    return std::to_string(got.size()) + " bytes instead of " +
           std::to_string(expected.size());
  }
  const std::size_t count = expected.size() / itemSize(dtype);
  for (std::size_t i = 0; i < count; ++i) {
    if (isReal(dtype)) {
      const double a = realAt(dtype, got, i);
      const double b = realAt(dtype, expected, i);
      if (!areClose(a, b, tolerance)) return describe(i, a, b);
    } else {
      const int64_t a = integerAt(dtype, got, i);
      const int64_t b = integerAt(dtype, expected, i);
      if (a != b) return describe(i, a, b);
    }
  }
  return "";
}

}  // namespace dipu::samples
