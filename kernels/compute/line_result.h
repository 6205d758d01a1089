// SPDX-License-Identifier: Apache-2.0
//
// Results with one element for each line of another tensor.
#pragma once

#include <cstdint>

#include "kernels/compute/elementwise.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

// Makes a view with the sizes of the whole tensor, in which each line is one
// element: what Lines::cut takes. The view borrows from this object.
class LineResult {
 public:
  // `result` has size 1 along `dim`, or lacks that dimension; `whole` has at
  // most kMaxDims dimensions.
  TensorView of(const TensorView& result, const TensorView& whole,
                int64_t dim) {
    const bool keeps = result.ndim == whole.ndim;
    for (int32_t d = 0; d < whole.ndim; ++d) {
      const int32_t own = keeps || d < dim ? d : d - 1;
      strides_[d] = d == dim ? 0 : result.strides[own];
    }
    TensorView view = result;
    view.sizes = whole.sizes;
    view.strides = strides_;
    view.ndim = whole.ndim;
    return view;
  }

 private:
  int64_t strides_[kMaxDims] = {};
};

}  // namespace dipu::kernels
