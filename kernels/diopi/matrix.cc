// SPDX-License-Identifier: Apache-2.0
//
// DIOPI functions of small linear operators, and of tensors that follow a
// formula.
#include "kernels/compute/matrix.h"

#include <diopi/functions_dipu.h>

#include "kernels/compute/gemm/gemm.h"
#include "kernels/compute/operands.h"
#include "kernels/diopi/tensor_args.h"

using namespace dipu::kernels;         // NOLINT(build/namespaces)
using namespace dipu::kernels::diopi;  // NOLINT(build/namespaces)

extern "C" {

diopiError_t diopiExtTrace(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                           diopiConstTensorHandle_t input) {
  return done(trace(queueOf(ctx), view(out), view(input)));
}

diopiError_t diopiExtEye(diopiContextHandle_t ctx, diopiTensorHandle_t out) {
  return done(eye(queueOf(ctx), view(out)));
}

diopiError_t diopiExtTrilIndices(diopiContextHandle_t ctx,
                                 diopiTensorHandle_t out, int64_t /*rows*/,
                                 int64_t columns, int64_t offset) {
  return done(triangleIndices(queueOf(ctx), view(out), true, columns, offset));
}

diopiError_t diopiExtTriuIndices(diopiContextHandle_t ctx,
                                 diopiTensorHandle_t out, int64_t /*rows*/,
                                 int64_t columns, int64_t offset) {
  return done(triangleIndices(queueOf(ctx), view(out), false, columns, offset));
}

diopiError_t diopiExtCross(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                           diopiConstTensorHandle_t input,
                           diopiConstTensorHandle_t other, int64_t dim) {
  return done(cross(queueOf(ctx), view(out), view(input), view(other), dim));
}

diopiError_t diopiExtAddmv(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                           diopiConstTensorHandle_t input,
                           diopiConstTensorHandle_t mat,
                           diopiConstTensorHandle_t vec,
                           const diopiScalar_t* beta,
                           const diopiScalar_t* alpha) {
  return done(addmv(queueOf(ctx), view(out), view(input), view(mat), view(vec),
                    scalar(alpha).d, scalar(beta).d));
}

diopiError_t diopiExtAddbmm(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                            diopiConstTensorHandle_t input,
                            diopiConstTensorHandle_t batch1,
                            diopiConstTensorHandle_t batch2,
                            const diopiScalar_t* beta,
                            const diopiScalar_t* alpha) {
  return done(addbmm(queueOf(ctx), view(out), view(input), view(batch1),
                     view(batch2), scalar(alpha).d, scalar(beta).d));
}

diopiError_t diopiExtIntMm(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                           diopiConstTensorHandle_t input,
                           diopiConstTensorHandle_t mat2) {
  const Queue queue = queueOf(ctx);
  DenseTensor left(queue, view(input), Order::kRowMajor, DType::kInt32);
  DenseTensor right(queue, view(mat2), Order::kRowMajor, DType::kInt32);
  if (!left.load() || !right.load()) return diopiErrorOccurred;
  return done(matmul(queue, view(out), left.view(), right.view()));
}

diopiError_t diopiExtLogspace(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                              const diopiScalar_t* start,
                              const diopiScalar_t* end, int64_t /*steps*/,
                              double base) {
  return done(logspace(queueOf(ctx), view(out), scalar(start).to<double>(),
                       scalar(end).to<double>(), base));
}

}  // extern "C"
