// SPDX-License-Identifier: Apache-2.0
//
// DIOPI's lists of sizes as the arguments of windows.
#pragma once

#include <diopi/diopirt.h>

#include "kernels/compute/pooling/pool.h"

namespace dipu::kernels::diopi {

// Element `i` of a list that may have one element for all dimensions, or none.
inline int64_t element(const diopiSize_t& list, int64_t i, int64_t absent) {
  if (list.data == nullptr || list.len == 0) return absent;
  return list.data[i < list.len ? i : list.len - 1];
}

// Windows over the last `dimensions` dimensions. A stride that is missing is
// the size of the window.
inline PoolArguments poolArguments(int32_t dimensions,
                                   const diopiSize_t& kernel,
                                   const diopiSize_t& stride,
                                   const diopiSize_t& padding,
                                   const diopiSize_t& dilation) {
  PoolArguments arguments;
  arguments.dimensions = dimensions;
  PoolAxis* const axes[] = {&arguments.depth, &arguments.height,
                            &arguments.width};
  for (int32_t i = 0; i < dimensions; ++i) {
    PoolAxis& axis = *axes[3 - dimensions + i];
    axis.kernel = element(kernel, i, 1);
    axis.stride = element(stride, i, axis.kernel);
    axis.padding = element(padding, i, 0);
    axis.dilation = element(dilation, i, 1);
  }
  return arguments;
}

}  // namespace dipu::kernels::diopi
