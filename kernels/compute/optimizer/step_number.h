// SPDX-License-Identifier: Apache-2.0
//
// The number of an optimizer's step, in device memory. Internal to the
// optimizers.
#pragma once

#include "kernels/compute/dispatch.h"

namespace dipu::kernels {

// The number, stored as any type that torch or DIOPI use for it.
inline double readStep(const void* step, DType dtype) {
  double value = 0;
  dispatchAll(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    value = convertValue<double>(*static_cast<const T*>(step));
  });
  return value;
}

}  // namespace dipu::kernels
