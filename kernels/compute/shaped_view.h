// SPDX-License-Identifier: Apache-2.0
//
// A tensor's elements under other sizes and strides.
#pragma once

#include <cstdint>

#include "kernels/compute/dtype.h"
#include "kernels/compute/elementwise.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

// Starts without dimensions at the tensor's first element; append them from
// the outermost to the innermost one, kMaxDims at most. Borrows the tensor's
// memory. Not copyable: the view points into it.
struct ShapedView {
  int64_t sizes[kMaxDims] = {};
  int64_t strides[kMaxDims] = {};
  TensorView view;

  explicit ShapedView(const TensorView& tensor) : view(tensor) {
    view.ndim = 0;
    view.numel = 1;
    view.sizes = sizes;
    view.strides = strides;
  }
  ShapedView(const ShapedView&) = delete;
  ShapedView& operator=(const ShapedView&) = delete;

  ShapedView& append(int64_t size, int64_t stride) {
    sizes[view.ndim] = size;
    strides[view.ndim++] = stride;
    view.numel *= size;
    return *this;
  }

  // Moves the first element by a number of elements.
  ShapedView& shift(int64_t elements) {
    view.data = static_cast<char*>(view.data) +
                elements * static_cast<int64_t>(itemSize(view.dtype));
    return *this;
  }
};

}  // namespace dipu::kernels
