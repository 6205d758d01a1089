// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/convolution/shape.h"

#include <algorithm>

#include "kernels/compute/status.h"

namespace dipu::kernels::convolution {

Status refuse(const char* what, int64_t value) {
  return fail(Status::kInvalid, "convolution: %s %ld", what, long(value));
}

namespace {

// Whether the kernel covers the image from a result of this size. Convolution
// covers as much as it can; a transposed one may leave more at the end.
bool covers(const Shape& s, int axis, bool transposed) {
  const int64_t reach = s.dilation[axis] * (s.kernel[axis] - 1) + 1;
  const int64_t room = s.in[axis] + 2 * s.padding[axis] - reach;
  const int64_t used = (s.out[axis] - 1) * s.stride[axis];
  const int64_t step =
      transposed ? std::max(s.stride[axis], s.dilation[axis]) : s.stride[axis];
  return s.out[axis] == 0 ? room < 0 : used <= room && room - used < step;
}

// Sizes and attributes along the axes, or what is wrong with them.
Status fillAxes(const TensorView& image, const TensorView& weight,
                const TensorView& result, const ConvolutionArguments& a,
                bool transposed, Shape* s) {
  const auto absent = static_cast<int>(kAxes - s->dimensions);
  for (int axis = 0; axis < kAxes; ++axis) {
    const int i = axis - absent;
    const bool present = i >= 0;
    s->in[axis] = present ? image.sizes[2 + i] : 1;
    s->out[axis] = present ? result.sizes[2 + i] : 1;
    s->kernel[axis] = present ? weight.sizes[2 + i] : 1;
    s->stride[axis] = present ? a.stride[i] : 1;
    s->padding[axis] = present ? a.padding[i] : 0;
    s->dilation[axis] = present ? a.dilation[i] : 1;
    if (s->stride[axis] < 1) return refuse("stride", a.stride[i]);
    if (s->dilation[axis] < 1) return refuse("dilation", a.dilation[i]);
    if (s->padding[axis] < 0) return refuse("padding", a.padding[i]);
    if (!covers(*s, axis, transposed)) {
      return refuse("cannot give a result of size", s->out[axis]);
    }
  }
  return Status::kOk;
}

}  // namespace

Status shapeOf(const TensorView& image, const TensorView& weight,
               const TensorView& result, const ConvolutionArguments& a,
               bool transposed, Shape* shape) {
  if ((image.ndim != 4 && image.ndim != 5) || weight.ndim != image.ndim ||
      result.ndim != image.ndim) {
    return refuse("takes 4-D or 5-D tensors, not", image.ndim);
  }
  *shape = {};
  shape->dimensions = image.ndim - 2;
  shape->images = image.sizes[0];
  shape->channels = image.sizes[1];
  shape->features = weight.sizes[0];
  shape->groups = a.groups;
  const Status status = fillAxes(image, weight, result, a, transposed, shape);
  if (status != Status::kOk) return status;
  if (a.groups < 1 || image.sizes[1] != weight.sizes[1] * a.groups ||
      weight.sizes[0] % a.groups != 0) {
    return refuse("cannot divide its channels into groups:", a.groups);
  }
  if (result.sizes[0] != image.sizes[0] || result.sizes[1] != weight.sizes[0]) {
    return refuse("gives a number of features:", weight.sizes[0]);
  }
  if (image.dtype != weight.dtype || image.dtype != result.dtype) {
    return refuse("takes tensors of one dtype, not", int64_t(image.dtype));
  }
  return Status::kOk;
}

}  // namespace dipu::kernels::convolution
