// SPDX-License-Identifier: Apache-2.0
//
// DIOPI functions that wait for a value before they go on, and fills that take
// their value from a tensor.
#include <diopi/functions.h>

#include <algorithm>

#include "kernels/compute/binary.h"
#include "kernels/compute/elementwise.h"
#include "kernels/compute/index.h"
#include "kernels/compute/operands.h"
#include "kernels/compute/read_back.h"
#include "kernels/compute/reduce.h"
#include "kernels/diopi/tensor_args.h"

using namespace dipu::kernels;         // NOLINT(build/namespaces)
using namespace dipu::kernels::diopi;  // NOLINT(build/namespaces)

namespace {

// The only element of a tensor, exactly. Waits for the stream.
Status readScalar(const Queue& queue, const TensorView& value, Scalar* result) {
  if (value.numel != 1) {
    return fail(Status::kInvalid, "index_fill: a value of %lld elements",
                static_cast<long long>(value.numel));
  }
  result->is_integer = !isFloating(value.dtype);
  DenseTensor wide(queue, value, Order::kRowMajor,
                   result->is_integer ? DType::kInt64 : DType::kFloat64);
  if (!wide.load()) return Status::kFailed;
  if (!result->is_integer) {
    return readBack(queue, &result->d, wide.view().data, sizeof(double));
  }
  const Status status =
      readBack(queue, &result->i, wide.view().data, sizeof(int64_t));
  result->d = static_cast<double>(result->i);
  return status;
}

diopiError_t fillAt(const Queue& queue, diopiTensorHandle_t out, int64_t dim,
                    diopiConstTensorHandle_t index,
                    diopiConstTensorHandle_t value) {
  Scalar filler;
  const Status status = readScalar(queue, view(value), &filler);
  if (status != Status::kOk) return done(status);
  return done(indexFill(queue, view(out), dim, view(index), filler));
}

}  // namespace

extern "C" {

diopiError_t diopiIndexFillInp(diopiContextHandle_t ctx,
                               diopiTensorHandle_t input, int64_t dim,
                               diopiConstTensorHandle_t index,
                               diopiConstTensorHandle_t value) {
  return fillAt(queueOf(ctx), input, dim, index, value);
}

diopiError_t diopiIndexFill(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                            diopiConstTensorHandle_t input, int64_t dim,
                            diopiConstTensorHandle_t index,
                            diopiConstTensorHandle_t value) {
  const Queue queue = queueOf(ctx);
  const Status status = convertTensor(queue, view(out), view(input));
  if (status != Status::kOk) return done(status);
  return fillAt(queue, out, dim, index, value);
}

// Tensors of different sizes are not equal, nor is NaN to itself.
diopiError_t diopiEqual(diopiContextHandle_t ctx, bool* out,
                        diopiConstTensorHandle_t input,
                        diopiConstTensorHandle_t other) {
  const Queue queue = queueOf(ctx);
  const TensorView a = view(input);
  const TensorView b = view(other);
  *out = false;
  if (a.ndim != b.ndim || !std::equal(a.sizes, a.sizes + a.ndim, b.sizes)) {
    return diopiSuccess;
  }
  *out = a.numel == 0;
  if (*out) return diopiSuccess;
  const ScratchTensor same(queue, a, DType::kBool);
  TensorView scalar;
  scalar.ndim = 0;
  scalar.numel = 1;
  const ScratchTensor result(queue, scalar, DType::kBool);
  if (!same.valid() || !result.valid()) return diopiErrorOccurred;
  Status status = compare(queue, CompareOp::kEq, same.view(), a, b);
  if (status == Status::kOk) {
    status = all(queue, result.view(), same.view(), {});
  }
  if (status != Status::kOk) return done(status);
  return done(readBack(queue, out, result.view().data, sizeof(bool)));
}

}  // extern "C"
