// SPDX-License-Identifier: Apache-2.0
//
// Small linear operators and tensors that follow a formula. Each call enqueues
// and returns; any strides.
#pragma once

#include "kernels/compute/queue.h"
#include "kernels/compute/status.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

// The sum of the diagonal of a matrix.
Status trace(const Queue& queue, const TensorView& out,
             const TensorView& input);
// 1 on the diagonal of a matrix, else 0.
Status eye(const Queue& queue, const TensorView& out);
// The coordinates of the elements on and below (lower) or above (upper) a
// diagonal of a matrix of `columns` columns, row by row; `out` is [2, count].
Status triangleIndices(const Queue& queue, const TensorView& out, bool lower,
                       int64_t columns, int64_t offset);

// out = a x b for vectors of 3 elements along `dim`; all of one dtype and
// number of dimensions. `a` and `b` broadcast.
Status cross(const Queue& queue, const TensorView& out, const TensorView& a,
             const TensorView& b, int64_t dim);

// out = beta * input + alpha * (matrix @ vector); `input` broadcasts.
Status addmv(const Queue& queue, const TensorView& out, const TensorView& input,
             const TensorView& matrix, const TensorView& vector, double alpha,
             double beta);
// out = beta * input + alpha * (sum over i of batch1[i] @ batch2[i]).
Status addbmm(const Queue& queue, const TensorView& out,
              const TensorView& input, const TensorView& batch1,
              const TensorView& batch2, double alpha, double beta);

// out[i] = base to the power of what linspace gives.
Status logspace(const Queue& queue, const TensorView& out, double start,
                double end, double base);

}  // namespace dipu::kernels
