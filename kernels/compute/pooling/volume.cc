// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/pooling/volume.h"

namespace dipu::kernels::pooling {

Status volumeOf(const char* operation, const TensorView& in,
                const TensorView& out, int32_t spatial, Order order,
                Volume* volume) {
  const int32_t outer = in.ndim - spatial;
  if (spatial < 1 || spatial > kAxes || outer < 0 || out.ndim != in.ndim ||
      in.dtype != out.dtype ||
      !std::equal(in.sizes, in.sizes + outer, out.sizes)) {
    return fail(Status::kInvalid,
                "%s: tensors of %d and %d dimensions do not belong together "
                "over %d dimensions",
                operation, in.ndim, out.ndim, spatial);
  }
  for (int32_t i = 0; i < outer; ++i) volume->planes *= in.sizes[i];
  if (order == Order::kChannelsLast) {
    volume->inner = in.sizes[1];
    volume->planes = in.sizes[0];
  }
  for (int32_t i = 0; i < spatial; ++i) {
    Axis& axis = volume->axes[kAxes - spatial + i];
    axis.in = in.sizes[outer + i];
    axis.out = out.sizes[outer + i];
  }
  if (out.numel > 0 && in.numel == 0) {
    return fail(Status::kInvalid, "%s: the source is empty", operation);
  }
  return Status::kOk;
}

}  // namespace dipu::kernels::pooling
