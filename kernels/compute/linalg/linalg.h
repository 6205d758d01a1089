// SPDX-License-Identifier: Apache-2.0
//
// Factorizations of matrices and what is solved with them.
//
// Tensors are float32 or float64, of one dtype, [batch..., rows, columns] with
// any strides; other dtypes give kUnsupported and shapes that do not fit
// kInvalid. Matrices are computed one by one, several at a time. Every function
// enqueues and returns; results do not depend on the number of threads.
#pragma once

#include "kernels/compute/queue.h"
#include "kernels/compute/status.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

// out = the triangle L with L L^T = input, or U with U^T U = input for `upper`;
// only that triangle of the input is read. `info` (int32, [batch...]) gets 0,
// or the order of the leading minor that is not positive; with `check` such a
// matrix fails on the device.
Status cholesky(const Queue& queue, const TensorView& out,
                const TensorView& info, const TensorView& input, bool upper,
                bool check);
// Gradient of the symmetric input. `factor` is the result.
Status choleskyBackward(const Queue& queue, const TensorView& grad_input,
                        const TensorView& grad, const TensorView& factor,
                        bool upper);

// One triangle of a matrix, the other being taken as 0.
struct TriangleOptions {
  bool upper;
  bool transpose;
  bool unit;  // the diagonal is taken as 1 and not read
};

// out = x with matrix @ x = b, or transpose(matrix) @ x = b. `b` and `matrix`
// have the same batch; batches that would broadcast give kUnsupported.
Status triangularSolve(const Queue& queue, const TensorView& out,
                       const TensorView& b, const TensorView& matrix,
                       const TriangleOptions& options);
// Gradients from that of x; `grad_matrix` may be undefined.
Status triangularSolveBackward(const Queue& queue, const TensorView& grad_b,
                               const TensorView& grad_matrix,
                               const TensorView& grad, const TensorView& x,
                               const TensorView& matrix,
                               const TriangleOptions& options);

// input = q r with orthonormal columns of q and a triangle r. With k = min(m,
// n), q is [.., m, k] and r [.., k, n], or q [.., m, m] and r [.., m, n] of a
// complete factorization. `q` may be undefined.
Status qr(const Queue& queue, const TensorView& q, const TensorView& r,
          const TensorView& input);

}  // namespace dipu::kernels
