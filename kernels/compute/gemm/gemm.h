// SPDX-License-Identifier: Apache-2.0
//
// Matrix products.
//
// All tensors of a call have one dtype: an integer type, float16, bfloat16,
// float32 or float64; anything else gives kUnsupported. float16 and bfloat16
// accumulate in float32. Operands may have any strides, so a transposed view
// costs no copy. Every function enqueues and returns; none blocks. Shapes that
// do not fit give kInvalid and enqueue nothing.
#pragma once

#include "kernels/compute/queue.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

// out = a @ b with the rules of a matrix product: vectors (1-D), matrices, and
// batches whose leading dimensions broadcast against each other. `out` has the
// shape of the result.
Status matmul(const Queue& queue, const TensorView& out, const TensorView& a,
              const TensorView& b);

// out = beta * input + alpha * (a @ b) for matrices, or for batches of them
// (3-D). `input` broadcasts to the shape of `out`. It is not read when beta is
// 0, so NaN in it does not spread, and it may be the same tensor as `out`.
Status addmm(const Queue& queue, const TensorView& out, const TensorView& input,
             const TensorView& a, const TensorView& b, double alpha,
             double beta);

// out = input @ transpose(weight) + bias. `weight` is [features_out,
// features_in], `input` [..., features_in]; `bias` may be undefined.
Status linear(const Queue& queue, const TensorView& out,
              const TensorView& input, const TensorView& weight,
              const TensorView& bias);

}  // namespace dipu::kernels
