// SPDX-License-Identifier: Apache-2.0
//
// Elementwise functions of three tensors, choices between tensors, and fills.
// Inputs broadcast to the output, which may be one of them. Each call
// enqueues and returns.
#pragma once

#include "kernels/compute/queue.h"
#include "kernels/compute/status.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

// out = condition ? a : b.
Status where(const Queue& queue, const TensorView& out,
             const TensorView& condition, const TensorView& a,
             const TensorView& b);
// out = mask ? value : input.
Status maskedFill(const Queue& queue, const TensorView& out,
                  const TensorView& input, const TensorView& mask,
                  const Scalar& value);

// out = input + value * a * b, and input + value * a / b.
Status addcmul(const Queue& queue, const TensorView& out,
               const TensorView& input, const TensorView& a,
               const TensorView& b, const Scalar& value);
Status addcdiv(const Queue& queue, const TensorView& out,
               const TensorView& input, const TensorView& a,
               const TensorView& b, const Scalar& value);

// out = input + weight * (end - input), exact at both ends.
Status lerp(const Queue& queue, const TensorView& out, const TensorView& input,
            const TensorView& end, const TensorView& weight);
Status lerpScalar(const Queue& queue, const TensorView& out,
                  const TensorView& input, const TensorView& end,
                  const Scalar& weight);

// out = min(max(input, low), high). Either bound may be absent (undefined, or
// nullptr), not both. NaN in the input or in a bound gives NaN.
Status clamp(const Queue& queue, const TensorView& out, const TensorView& input,
             const TensorView& low, const TensorView& high);
Status clampScalar(const Queue& queue, const TensorView& out,
                   const TensorView& input, const Scalar* low,
                   const Scalar* high);

// out = value everywhere.
Status fill(const Queue& queue, const TensorView& out, const Scalar& value);

// out[i] = start + i * step, counted in row-major order. Integer outputs are
// computed in int64.
Status arange(const Queue& queue, const TensorView& out, const Scalar& start,
              const Scalar& step);
// out[i] runs from start to end in `steps` equal steps; for integer outputs
// from and to the integer parts, as in PyTorch.
Status linspace(const Queue& queue, const TensorView& out, const Scalar& start,
                const Scalar& end, int64_t steps);

}  // namespace dipu::kernels
