// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/pooling/window.h"

namespace dipu::kernels::pooling {

Order imageOrder(const TensorView& image) {
  return image.ndim == 4 ? orderOf(image) : Order::kRowMajor;
}

Status geometryOf(const char* operation, const TensorView& in,
                  const TensorView& out, const PoolArguments& arguments,
                  Order order, Geometry* geometry) {
  if (in.ndim < 3 || in.ndim > 4 || out.ndim != in.ndim ||
      in.dtype != out.dtype ||
      !std::equal(in.sizes, in.sizes + in.ndim - 2, out.sizes)) {
    return fail(Status::kInvalid,
                "%s: images of %d and %d dimensions do not belong together",
                operation, in.ndim, out.ndim);
  }
  const int32_t h = in.ndim - 2;
  geometry->samples = in.ndim == 4 ? in.sizes[0] : 1;
  geometry->channels = in.sizes[h - 1];
  geometry->height = {arguments.height, arguments.adaptive, in.sizes[h],
                      out.sizes[h]};
  geometry->width = {arguments.width, arguments.adaptive, in.sizes[h + 1],
                     out.sizes[h + 1]};
  geometry->interleaved = order == Order::kChannelsLast;
  if (!geometry->height.valid() || !geometry->width.valid()) {
    return fail(Status::kInvalid,
                "%s: windows of a %ldx%ld result leave the %ldx%ld input",
                operation, long(out.sizes[h]), long(out.sizes[h + 1]),
                long(in.sizes[h]), long(in.sizes[h + 1]));
  }
  return Status::kOk;
}

}  // namespace dipu::kernels::pooling
