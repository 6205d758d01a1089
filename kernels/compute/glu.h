// SPDX-License-Identifier: Apache-2.0
//
// The gated linear unit: the first half of a tensor along one dimension, times
// the sigmoid of the second half. Floating tensors of any strides. Each call
// enqueues and returns.
#pragma once

#include "kernels/compute/queue.h"
#include "kernels/compute/status.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

// `dim` may be negative; its size in `input` is even, and half of it in `out`.
Status glu(const Queue& queue, const TensorView& out, const TensorView& input,
           int64_t dim);

// `grad_input` has the shape of `input`.
Status gluBackward(const Queue& queue, const TensorView& grad_input,
                   const TensorView& grad_output, const TensorView& input,
                   int64_t dim);

// The change of `result` = glu(input) when `input` changes by `change`.
Status gluTangent(const Queue& queue, const TensorView& out,
                  const TensorView& result, const TensorView& input,
                  const TensorView& change, int64_t dim);

}  // namespace dipu::kernels
