// SPDX-License-Identifier: Apache-2.0
//
// Which elements occur among others. Results are bool. Each call enqueues and
// returns.
#pragma once

#include "kernels/compute/queue.h"
#include "kernels/compute/status.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

// out = whether each of `elements` is (is not, when `invert`) one of `tests`,
// a tensor of any shape. NaN equals nothing. A 16-bit floating operand beside
// one of another type is kUnsupported. Needs scratch memory for the tests.
Status isIn(const Queue& queue, const TensorView& out,
            const TensorView& elements, const TensorView& tests, bool invert);

// As above for one number among `tests`; `out` has one element.
Status isScalarIn(const Queue& queue, const TensorView& out,
                  const Scalar& element, const TensorView& tests, bool invert);

}  // namespace dipu::kernels
