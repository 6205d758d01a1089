// SPDX-License-Identifier: Apache-2.0
//
// Elements as bits, for kernels that move them without computing.
#pragma once

#include <cstdint>

#include "kernels/compute/dispatch.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

// The bits of `value` as an element of `dtype`, in the low bytes. False when
// there is no such dtype.
inline bool scalarBits(const Scalar& value, DType dtype, uint64_t* bits) {
  *bits = 0;
  const auto store = [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T element =
        value.is_integer ? convertValue<T>(value.i) : convertValue<T>(value.d);
    std::memcpy(bits, &element, sizeof(T));
  };
  return dispatchAll(dtype, store) ||
         dispatchAmong<uint16_t, uint32_t, uint64_t>(dtype, store);
}

}  // namespace dipu::kernels
