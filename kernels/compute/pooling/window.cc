// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/pooling/window.h"

namespace dipu::kernels::pooling {

bool belongTogether(const TensorView& in, const TensorView& out,
                    int32_t dimensions) {
  return dimensions >= 1 && dimensions <= 3 && in.ndim > dimensions &&
         in.ndim <= dimensions + 2 && out.ndim == in.ndim &&
         in.dtype == out.dtype &&
         std::equal(in.sizes, in.sizes + in.ndim - dimensions, out.sizes);
}

bool sameSizes(const TensorView& a, const TensorView& b) {
  return a.ndim == b.ndim && std::equal(a.sizes, a.sizes + a.ndim, b.sizes);
}

Order imageOrder(const TensorView& image, int32_t dimensions) {
  return image.ndim == dimensions + 2 ? orderOf(image) : Order::kRowMajor;
}

Status geometryOf(const char* operation, const TensorView& in,
                  const TensorView& out, const PoolArguments& arguments,
                  Order order, Geometry* geometry) {
  const int32_t dimensions = arguments.dimensions;
  if (!belongTogether(in, out, dimensions)) {
    return fail(Status::kInvalid,
                "%s: images of %d and %d dimensions do not belong together",
                operation, in.ndim, out.ndim);
  }
  const int32_t first = in.ndim - dimensions;
  geometry->samples = first == 2 ? in.sizes[0] : 1;
  geometry->channels = in.sizes[first - 1];
  geometry->interleaved = order == Order::kChannelsLast;
  const PoolAxis* const axes[] = {&arguments.depth, &arguments.height,
                                  &arguments.width};
  Windows* const windows[] = {&geometry->depth, &geometry->height,
                              &geometry->width};
  for (int32_t i = 0; i < 3; ++i) {
    const int32_t dim = in.ndim - 3 + i;
    if (dim < first) {
      *windows[i] = {PoolAxis(), false, 1, 1};
      continue;
    }
    *windows[i] = {*axes[i], arguments.adaptive, in.sizes[dim], out.sizes[dim]};
    if (!windows[i]->valid()) {
      return fail(Status::kInvalid,
                  "%s: the windows of %ld results leave the %ld elements of "
                  "dimension %d",
                  operation, long(out.sizes[dim]), long(in.sizes[dim]), dim);
    }
  }
  return Status::kOk;
}

}  // namespace dipu::kernels::pooling
