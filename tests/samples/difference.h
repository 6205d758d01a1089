// SPDX-License-Identifier: Apache-2.0
//
// Elements that were computed against those that were expected.
#pragma once

#include <cstddef>
#include <string>

#include "tests/samples/sample.h"

namespace dipu::samples {

// Bytes of an element of that diopiDtype_t. Throws std::runtime_error for types
// that samples do not have.
std::size_t itemSize(int32_t dtype);

// The first element of `got` that is further from its counterpart in `expected`
// than `tolerance` allows, in words; "" when there is none. NaN equals NaN.
std::string difference(int32_t dtype, double tolerance, const Bytes& got,
                       const Bytes& expected);

}  // namespace dipu::samples
