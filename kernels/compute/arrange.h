// SPDX-License-Identifier: Apache-2.0
//
// Operators that move elements to other places. Outputs have their final
// sizes and any strides, and do not overlap an input unless it says so. Each
// call enqueues and returns.
#pragma once

#include "kernels/compute/queue.h"
#include "kernels/compute/status.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

// `input` goes to out[.., start : start + size of input, ..] along `dim`, in
// the dtype of `out`: one call per part of a concatenation.
Status copyInto(const Queue& queue, const TensorView& out, int64_t dim,
                int64_t start, const TensorView& input);
// The reverse, for a split.
Status copyFrom(const Queue& queue, const TensorView& out,
                const TensorView& input, int64_t dim, int64_t start);

// out = input in reverse order along `dims`.
Status flip(const Queue& queue, const TensorView& out, const TensorView& input,
            const int64_t* dims, int64_t count);
// out[(i + shift) mod size] = input[i] along each dimension of `dims`; without
// dims, in the flattened tensor.
Status roll(const Queue& queue, const TensorView& out, const TensorView& input,
            const int64_t* shifts, const int64_t* dims, int64_t count);
// `out` consists of copies of `input`, out.sizes[i] / input.sizes[i] of them
// along dimension i (dimensions of `input` count from the end).
Status repeat(const Queue& queue, const TensorView& out,
              const TensorView& input);

// Keeps what lies on and below (tril) or above (triu) a diagonal of the last
// two dimensions, 0 elsewhere. `out` may be the input.
enum class Triangle : int32_t { kLower, kUpper };
Status triangle(const Queue& queue, Triangle which, const TensorView& out,
                const TensorView& input, int64_t diagonal);

// out[i..., c] = input[i...] == c.
Status oneHot(const Queue& queue, const TensorView& out,
              const TensorView& input);

}  // namespace dipu::kernels
