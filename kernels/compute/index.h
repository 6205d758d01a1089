// SPDX-License-Identifier: Apache-2.0
//
// Reading and writing at positions that are given by tensors. Indices are
// int64 or int32. Each call enqueues and returns, unless its comment says that
// it waits.
//
// Note [Index out of range]
// An index that is out of range is found when the work runs. Nothing is read
// or written there, and the device's error becomes sticky with a text that
// names the queue, the index and the size.
#pragma once

#include "kernels/compute/queue.h"
#include "kernels/compute/status.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

// out[.., i, ..] = input[.., index[i], ..] along `dim`; `index` has at most one
// dimension.
Status indexSelect(const Queue& queue, const TensorView& out,
                   const TensorView& input, int64_t dim,
                   const TensorView& index);
// input[.., index[i], ..] = value along `dim`, in place.
Status indexFill(const Queue& queue, const TensorView& input, int64_t dim,
                 const TensorView& index, const Scalar& value);

// out[i..., :] = weight[indices[i...], :].
Status embedding(const Queue& queue, const TensorView& out,
                 const TensorView& weight, const TensorView& indices);
// The sums of the gradients of each row. Rows `padding_idx` (none if negative)
// get 0; with `by_frequency` sums are divided by the number of uses.
Status embeddingBackward(const Queue& queue, const TensorView& grad_weight,
                         const TensorView& grad, const TensorView& indices,
                         int64_t padding_idx, bool by_frequency);

// out[i][j] = input[index[i][j]][j] for dim 0, and likewise. `out` has the
// sizes of `index`.
Status gather(const Queue& queue, const TensorView& out,
              const TensorView& input, int64_t dim, const TensorView& index);

enum class ScatterMode : int32_t { kAssign, kAdd, kMultiply };
// out[index[i][j]][j] = src[i][j] for dim 0, and likewise, in place. Of equal
// positions the last one stays with kAssign.
Status scatter(const Queue& queue, const TensorView& out, int64_t dim,
               const TensorView& index, const TensorView& src,
               ScatterMode mode);
Status scatterScalar(const Queue& queue, const TensorView& out, int64_t dim,
                     const TensorView& index, const Scalar& value,
                     ScatterMode mode);

// Advanced indexing: `indices` has an entry per leading dimension of the
// tensor, undefined ones standing for the whole dimension. Entries broadcast
// to each other and may be negative; masks have been replaced by positions.
struct AdvancedIndex {
  static constexpr int32_t kMaxDims = 8;
  const TensorView* indices = nullptr;
  int32_t count = 0;
};
// Sizes of the result: `sizes` has room for 2 * AdvancedIndex::kMaxDims.
Status indexedSizes(const TensorView& input, const AdvancedIndex& index,
                    int64_t* sizes, int32_t* ndim);
// out = input[indices].
Status indexGet(const Queue& queue, const TensorView& out,
                const TensorView& input, const AdvancedIndex& index);
// out[indices] = values, or += with `accumulate`; values broadcast.
Status indexPut(const Queue& queue, const TensorView& out,
                const TensorView& values, const AdvancedIndex& index,
                bool accumulate);

// Number of elements of `input` that are not zero. Waits for the stream.
Status countNonzero(const Queue& queue, const TensorView& input,
                    int64_t* out_count);
// Their positions, one row of `out` ([count, ndim], int64) for each; `count`
// comes from countNonzero. With fewer rows the first ones, and rows that are
// left get `fill`.
Status nonzero(const Queue& queue, const TensorView& out,
               const TensorView& input, int64_t fill = 0);
// The elements of `input` at which `mask` (same sizes, any strides) is set, in
// row-major order.
Status maskedSelect(const Queue& queue, const TensorView& out,
                    const TensorView& input, const TensorView& mask);

}  // namespace dipu::kernels
