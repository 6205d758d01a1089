// SPDX-License-Identifier: Apache-2.0
//
// Combining elements at positions that are given by tensors. Several elements
// may name one position. 16-bit floats are combined in float32 and rounded
// once, integers in int64. Indices are int64 or int32 and not negative; see
// Note [Index out of range] in index.h. Each call enqueues and returns.
#pragma once

#include "kernels/compute/queue.h"
#include "kernels/compute/status.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

// Means of integers are rounded down. NaN wins in kMax and kMin.
enum class Combine : int32_t { kSum, kProduct, kMean, kMax, kMin };

// out[index[i][j]][j] takes src[i][j] for dim 0, and likewise, in place.
// Without `include_self`, what stood there before does not take part.
Status scatterReduce(const Queue& queue, const TensorView& out, int64_t dim,
                     const TensorView& index, const TensorView& src,
                     Combine combine, bool include_self);

// out[.., index[i], ..] takes source[.., i, ..] along `dim`, in place; `index`
// has at most one dimension.
Status indexReduce(const Queue& queue, const TensorView& out, int64_t dim,
                   const TensorView& index, const TensorView& source,
                   Combine combine, bool include_self);
// The same with kSum of alpha * source.
Status indexAdd(const Queue& queue, const TensorView& out, int64_t dim,
                const TensorView& index, const TensorView& source,
                const Scalar& alpha);
// The same, but the last of equal positions replaces. The dtypes are the same.
Status indexCopy(const Queue& queue, const TensorView& out, int64_t dim,
                 const TensorView& index, const TensorView& source);

}  // namespace dipu::kernels
