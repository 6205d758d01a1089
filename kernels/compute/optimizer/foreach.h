// SPDX-License-Identifier: Apache-2.0
//
// Operators over lists of tensors, and the loss scaling of mixed precision.
//
// Lists of dense floating tensors are one piece of work; others are computed
// tensor by tensor. outs[i] and inputs[i] have one shape and may be the same
// tensor. Every function enqueues and returns; results do not depend on the
// number of threads.
#pragma once

#include <cstddef>

#include "kernels/compute/queue.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

enum class ForeachOp { kAdd, kMul };

// outs[i] = inputs[i] op other.
Status foreachScalar(const Queue& queue, ForeachOp op, const TensorView* outs,
                     const TensorView* inputs, std::size_t count,
                     const Scalar& other);
// outs[i] = inputs[i] * other, a tensor of one element.
Status foreachMulTensor(const Queue& queue, const TensorView* outs,
                        const TensorView* inputs, std::size_t count,
                        const TensorView& other);
// outs[i], a scalar, is the norm of inputs[i] of order 1, 2 or infinity; other
// orders are kUnsupported.
Status foreachNorm(const Queue& queue, const TensorView* outs,
                   const TensorView* inputs, std::size_t count, double order);

// Multiplies the gradients by `inverse_scale`, a float32 scalar, and sets
// `found_inf`, a float32 scalar, to 1 when one of them was not finite.
Status ampUnscale(const Queue& queue, const TensorView* gradients,
                  std::size_t count, const TensorView& found_inf,
                  const TensorView& inverse_scale);
// Adapts `scale` (float32) and `growth_tracker` (int32) to `found_inf`: backs
// off after a step that was not finite, grows after `interval` finite ones.
Status ampUpdateScale(const Queue& queue, const TensorView& scale,
                      const TensorView& growth_tracker,
                      const TensorView& found_inf, double growth_factor,
                      double backoff_factor, int64_t interval);

}  // namespace dipu::kernels
