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
// What an export has in common with others is a function of its queue, never a
// call of another export: see Note [Names of kernels].
//
// Views borrow the host's sizes and strides and are valid until the export
// returns. Nothing here allocates or blocks, apart from the queue's scratch.
#pragma once

#include <diopi/diopirt.h>

#include "diopi_adapter/abi/diopi_layout.h"
#include "kernels/compute/queue.h"
#include "kernels/compute/status.h"
#include "kernels/compute/tensor_view.h"

namespace dipu::kernels::diopi {

// Scratch memory of a context: lives until the context dies, and the host's
// allocator reuses it in stream order. nullptr when exhausted.
void* requireScratch(void* context, std::size_t bytes);

// A dense tensor of the context as a result that the library allocates; `sizes`
// has `ndim` elements.
diopiError_t requireTensor(diopiContextHandle_t ctx, const int64_t* sizes,
                           int64_t ndim, DType dtype, diopiTensorHandle_t* out);

// The default stream of the calling thread's device, for a host that gives no
// stream.
soft_stream* defaultStream();

// Does not exist: optimized code that would call it does not compile.
[[gnu::error(
    "queueOf() belongs in an export, whose name its kernels bear; "
    "helpers and lambdas take its queue")]]
void queueOfNoExport();

// The queue of the export that is being called.
//
// Note [Names of kernels]
// A kernel bears the name of the DIOPI function that was called, such as
// "diopiAddInp": in failures ("diopiAddInp: ..."), and in softdevice's traces,
// counters and faults. The compiler gives the name, that of the function which
// contains this call, so it is a constant and costs one store per launch.
[[gnu::always_inline]] inline Queue queueOf(
    diopiContextHandle_t ctx, const char* function = __builtin_FUNCTION()) {
  const int other = __builtin_strncmp(function, "diopi", 5);
  if (__builtin_constant_p(other) && other != 0) queueOfNoExport();
  diopiStreamHandle_t stream = nullptr;
  diopiGetStream(ctx, &stream);
  if (stream == nullptr) stream = defaultStream();
  return Queue(static_cast<soft_stream*>(stream), &requireScratch, ctx,
               function);
}

// Whether the host publishes how its tensors begin (diopi_layout.h).
bool findTensorLayout();
inline bool tensorsAreReadable() {
  static const bool readable = findTensorLayout();
  return readable;
}

// The view of a tensor, not null, by the functions that every host has.
TensorView askForView(diopiConstTensorHandle_t tensor);

// An absent optional tensor (a null handle) gives an undefined view.
inline TensorView view(diopiConstTensorHandle_t tensor) {
  if (tensor == nullptr) return TensorView();
  if (!tensorsAreReadable()) return askForView(tensor);
  const auto* known = reinterpret_cast<const dipu_diopi_tensor_prefix*>(tensor);
  return {known->data,  known->sizes, known->strides,
          known->numel, known->ndim,  static_cast<DType>(known->dtype)};
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
