// SPDX-License-Identifier: Apache-2.0
//
// Running results along one dimension: element i of a line of `out` combines
// the elements up to i of that line of `input`.
//
// Outputs have the sizes of `input` and may be the same memory. Floating
// elements are combined in float64, integers in int64, and rounded once. Each
// call enqueues and returns; any strides.
#pragma once

#include "kernels/compute/queue.h"
#include "kernels/compute/status.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

Status cumsum(const Queue& queue, const TensorView& out,
              const TensorView& input, int64_t dim);
Status cumprod(const Queue& queue, const TensorView& out,
               const TensorView& input, int64_t dim);
// log(sum(exp(x))); floating types only.
Status logCumsumExp(const Queue& queue, const TensorView& out,
                    const TensorView& input, int64_t dim);

enum class Running : int32_t { kMax, kMin };
// The extreme so far and the last position (int64 or int32) where it stands.
// NaN wins, and a later NaN over an earlier one. `values` has the dtype of
// `input`.
Status cumExtreme(const Queue& queue, Running which, const TensorView& values,
                  const TensorView& indices, const TensorView& input,
                  int64_t dim);

}  // namespace dipu::kernels
