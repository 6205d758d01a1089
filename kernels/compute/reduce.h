// SPDX-License-Identifier: Apache-2.0
//
// Sums, extremes, norms and their like over some or all dimensions.
//
// `dims` lists the reduced dimensions (negative counts from the end), all when
// it is empty. `out` has size 1 there or lacks them. Float32 and the 16-bit
// floats are summed in float32 over short blocks and in float64 across blocks,
// so the error does not grow with the number of elements. Each call enqueues
// and returns; inputs may have any strides.
#pragma once

#include "kernels/compute/queue.h"
#include "kernels/compute/status.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels {

struct Dims {
  const int64_t* data = nullptr;
  int64_t count = 0;
};

Status sum(const Queue& queue, const TensorView& out, const TensorView& input,
           const Dims& dims);
// NaN over no elements.
Status mean(const Queue& queue, const TensorView& out, const TensorView& input,
            const Dims& dims);
Status prod(const Queue& queue, const TensorView& out, const TensorView& input,
            const Dims& dims);
Status any(const Queue& queue, const TensorView& out, const TensorView& input,
           const Dims& dims);
Status all(const Queue& queue, const TensorView& out, const TensorView& input,
           const Dims& dims);

enum class Extreme : int32_t { kMax, kMin };
// NaN wins. kInvalid over no elements.
Status extreme(const Queue& queue, Extreme which, const TensorView& out,
               const TensorView& input, const Dims& dims);
// Also the position of the first extreme element along `dim`; `values` may be
// undefined.
Status extremeAlong(const Queue& queue, Extreme which, const TensorView& values,
                    const TensorView& indices, const TensorView& input,
                    int64_t dim);

// (sum of |x|^p)^(1/p); p = 0 counts, infinities take extremes of |x|.
Status norm(const Queue& queue, const TensorView& out, const TensorView& input,
            double p, const Dims& dims);
// Standard deviation with divisor n - correction.
Status stddev(const Queue& queue, const TensorView& out,
              const TensorView& input, double correction, const Dims& dims);

// Its square, the variance.
Status variance(const Queue& queue, const TensorView& out,
                const TensorView& input, double correction, const Dims& dims);

// The sum of the elements that are not NaN.
Status nanSum(const Queue& queue, const TensorView& out,
              const TensorView& input, const Dims& dims);
// The number of elements that are not 0.
Status countAlong(const Queue& queue, const TensorView& out,
                  const TensorView& input, const Dims& dims);

}  // namespace dipu::kernels
