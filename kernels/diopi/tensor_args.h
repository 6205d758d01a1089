// SPDX-License-Identifier: Apache-2.0
//
// From DIOPI's handles to what kernels/compute works on, and back from its
// status to DIOPI's. An export reads its arguments with it and makes one call:
//
//   DIOPI_API diopiError_t diopiExp(diopiContextHandle_t ctx,
//                                   diopiTensorHandle_t out,
//                                   diopiConstTensorHandle_t input) {
//     return done(unary(queueOf(ctx), UnaryOp::kExp, view(out), view(input)));
//   }
//
// Views borrow the host's sizes and strides and are valid until the export
// returns. Nothing here allocates or blocks, apart from the queue's scratch.
#pragma once

#include <diopi/diopirt.h>

#include "kernels/compute/queue.h"
#include "kernels/compute/status.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels::diopi {

// Scratch memory of a context: lives until the context dies, and the host's
// allocator reuses it in stream order. nullptr when exhausted.
void* requireScratch(void* context, std::size_t bytes);

// The default stream of the calling thread's device, for a host that gives no
// stream.
soft_stream* defaultStream();

inline Queue queueOf(diopiContextHandle_t ctx) {
  diopiStreamHandle_t stream = nullptr;
  diopiGetStream(ctx, &stream);
  if (stream == nullptr) stream = defaultStream();
  return Queue(static_cast<soft_stream*>(stream), &requireScratch, ctx);
}

// An absent optional tensor (a null handle) gives an undefined view.
inline TensorView view(diopiConstTensorHandle_t tensor) {
  TensorView result;
  if (tensor == nullptr) return result;
  const void* data = nullptr;
  diopiSize_t sizes{nullptr, 0};
  diopiSize_t strides{nullptr, 0};
  diopiDtype_t dtype = diopi_dtype_unsupported;
  diopiGetTensorDataConst(tensor, &data);
  diopiGetTensorShape(tensor, &sizes);
  diopiGetTensorStride(tensor, &strides);
  diopiGetTensorDtype(tensor, &dtype);
  int64_t numel = 1;
  for (int64_t i = 0; i < sizes.len; ++i) numel *= sizes.data[i];
  result.data = const_cast<void*>(data);
  result.sizes = sizes.data;
  result.strides = strides.data;
  result.numel = numel;
  result.ndim = static_cast<int32_t>(sizes.len);
  result.dtype = static_cast<DType>(dtype);
  return result;
}

// Integer codes, bool included, carry an integer, the rest a double. A null
// pointer (an absent optional scalar) reads as 0; test for it first.
inline Scalar scalar(const diopiScalar_t* value) {
  Scalar result;
  if (value == nullptr) return result;
  result.is_integer = value->stype <= diopi_dtype_uint64;
  if (result.is_integer) {
    result.i = value->ival;
    result.d = static_cast<double>(value->ival);
  } else {
    result.d = value->fval;
    result.i = static_cast<int64_t>(value->fval);
  }
  return result;
}

// kUnsupported becomes diopiDtypeNotSupported, which lets the host compute
// elsewhere.
inline diopiError_t done(Status status) {
  switch (status) {
    case Status::kOk:
      return diopiSuccess;
    case Status::kUnsupported:
      return diopiDtypeNotSupported;
    default:
      return diopiErrorOccurred;
  }
}

}  // namespace dipu::kernels::diopi
