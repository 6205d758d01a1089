// SPDX-License-Identifier: Apache-2.0
//
// A DIOPI operator as a vendor of a card writes it: a kernel for one thread,
// and a function that reads the tensors and launches it.
#include <diopi/functions.h>

#include <cmath>
#include <cstdint>

#include "vendors/droplet/tang/tang_kernel.h"

namespace {

// [docs:begin softmax_kernel]
// One block per outer index. Its threads stride over the inner index, and each
// walks the column of the softmax axis that belongs to it, so no thread needs
// another one's result.
template <typename T>
__global__ void softmaxKernel(const T* input, T* output, int64_t axis,
                              int64_t inner) {
  const int64_t start = int64_t{blockIdx.x} * axis * inner;
  for (int64_t i = threadIdx.x; i < inner; i += blockDim.x) {
    const T* in = input + start + i;
    T* out = output + start + i;
    T largest = in[0];
    for (int64_t k = 1; k < axis; ++k) {
      const T value = in[k * inner];
      // A NaN has to reach the result.
      if (value > largest || value != value) largest = value;
    }
    T sum = 0;
    for (int64_t k = 0; k < axis; ++k) {
      const T value = std::exp(in[k * inner] - largest);
      out[k * inner] = value;
      sum += value;
    }
    const T scale = T{1} / sum;
    for (int64_t k = 0; k < axis; ++k) out[k * inner] *= scale;
  }
}
// [docs:end softmax_kernel]

// A contiguous tensor seen as outer x axis x inner.
struct Extents {
  int64_t outer = 1;
  int64_t axis = 1;
  int64_t inner = 1;
};

bool isContiguous(const diopiSize_t& shape, const diopiSize_t& stride) {
  int64_t expected = 1;
  for (int64_t d = shape.len - 1; d >= 0; --d) {
    if (shape.data[d] != 1 && stride.data[d] != expected) return false;
    expected *= shape.data[d];
  }
  return true;
}

diopiError_t extentsAround(diopiConstTensorHandle_t tensor, int64_t dim,
                           Extents* out) {
  diopiSize_t shape;
  diopiSize_t stride;
  diopiGetTensorShape(tensor, &shape);
  diopiGetTensorStride(tensor, &stride);
  if (!isContiguous(shape, stride)) return diopiNoImplement;
  const int64_t rank = shape.len == 0 ? 1 : shape.len;
  if (dim < -rank || dim >= rank) return diopiErrorOccurred;
  if (dim < 0) dim += rank;
  for (int64_t d = 0; d < shape.len; ++d) {
    int64_t& extent = d < dim ? out->outer : d > dim ? out->inner : out->axis;
    extent *= shape.data[d];
  }
  return diopiSuccess;
}

template <typename T>
diopiError_t launchSoftmax(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                           diopiConstTensorHandle_t input, Extents extents) {
  const void* in_data = nullptr;
  void* out_data = nullptr;
  diopiStreamHandle_t stream = nullptr;
  diopiGetTensorDataConst(input, &in_data);
  diopiGetTensorData(out, &out_data);
  diopiGetStream(ctx, &stream);
  // [docs:begin softmax_launch]
  auto* in_ptr = static_cast<const T*>(in_data);
  auto* out_ptr = static_cast<T*>(out_data);
  void* args[] = {&in_ptr, &out_ptr, &extents.axis, &extents.inner};
  const dim3 grid(static_cast<unsigned>(extents.outer));
  const dim3 block(512);
  const tangError_t error =
      launchKernel(softmaxKernel<T>, grid, block, args, /*sharedBytes=*/0,
                   static_cast<tangStream_t>(stream));
  // [docs:end softmax_launch]
  return error == tangSuccess ? diopiSuccess : diopiErrorOccurred;
}

}  // namespace

extern "C" diopiError_t diopiSoftmax(diopiContextHandle_t ctx,
                                     diopiTensorHandle_t out,
                                     diopiConstTensorHandle_t input,
                                     int64_t dim) {
  Extents in_extents;
  if (diopiError_t error = extentsAround(input, dim, &in_extents)) return error;
  Extents out_extents;
  if (diopiError_t error = extentsAround(out, dim, &out_extents)) return error;
  diopiDtype_t dtype;
  diopiDtype_t out_dtype;
  diopiGetTensorDtype(input, &dtype);
  diopiGetTensorDtype(out, &out_dtype);
  if (out_dtype != dtype) return diopiDtypeNotSupported;
  if (in_extents.outer * in_extents.axis * in_extents.inner == 0) {
    return diopiSuccess;
  }
  switch (dtype) {
    case diopi_dtype_float32:
      return launchSoftmax<float>(ctx, out, input, in_extents);
    case diopi_dtype_float64:
      return launchSoftmax<double>(ctx, out, input, in_extents);
    default:
      return diopiDtypeNotSupported;
  }
}
