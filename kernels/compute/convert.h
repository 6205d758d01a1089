// SPDX-License-Identifier: Apache-2.0
//
// Element-by-element conversion between any two types and any two strides.
#pragma once

#include <cstdint>

#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

// Converts `count` elements with convertValue (dtype.h). Strides are in bytes;
// a source stride of 0 repeats one element. Runs on the calling thread.
using Convert = void (*)(void* to, int64_t to_stride, const void* from,
                         int64_t from_stride, int64_t count);

// nullptr when a type is not in the enumeration.
Convert convertFunction(DType to, DType from);

}  // namespace dipu::kernels
