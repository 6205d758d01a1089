// SPDX-License-Identifier: Apache-2.0
//
// DIOPI's matrix products.
#include "kernels/compute/gemm/gemm.h"

#include <diopi/functions.h>
#include <diopi/functions_dipu.h>

#include "kernels/compute/activation.h"
#include "kernels/compute/unary.h"
#include "kernels/diopi/tensor_args.h"

using dipu::kernels::addmm;
using dipu::kernels::linear;
using dipu::kernels::matmul;
using dipu::kernels::diopi::done;
using dipu::kernels::diopi::queueOf;
using dipu::kernels::diopi::scalar;
using dipu::kernels::diopi::view;

extern "C" {

diopiError_t diopiMm(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                     diopiConstTensorHandle_t input,
                     diopiConstTensorHandle_t mat2) {
  return done(matmul(queueOf(ctx), view(out), view(input), view(mat2)));
}

diopiError_t diopiBmm(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                      diopiConstTensorHandle_t input,
                      diopiConstTensorHandle_t mat2) {
  return done(matmul(queueOf(ctx), view(out), view(input), view(mat2)));
}

diopiError_t diopiMatmul(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                         diopiConstTensorHandle_t input,
                         diopiConstTensorHandle_t other) {
  return done(matmul(queueOf(ctx), view(out), view(input), view(other)));
}

diopiError_t diopiAddmm(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                        diopiConstTensorHandle_t input,
                        diopiConstTensorHandle_t mat1,
                        diopiConstTensorHandle_t mat2,
                        const diopiScalar_t* beta, const diopiScalar_t* alpha) {
  return done(addmm(queueOf(ctx), view(out), view(input), view(mat1),
                    view(mat2), scalar(alpha).d, scalar(beta).d));
}

diopiError_t diopiExtAddmmActivation(
    diopiContextHandle_t ctx, diopiTensorHandle_t out,
    diopiConstTensorHandle_t input, diopiConstTensorHandle_t mat1,
    diopiConstTensorHandle_t mat2, const diopiScalar_t* beta,
    const diopiScalar_t* alpha, bool use_gelu) {
  const dipu::kernels::Queue queue = queueOf(ctx);
  const dipu::kernels::TensorView result = view(out);
  const dipu::kernels::Status status =
      addmm(queue, result, view(input), view(mat1), view(mat2), scalar(alpha).d,
            scalar(beta).d);
  if (status != dipu::kernels::Status::kOk) return done(status);
  return done(use_gelu
                  ? dipu::kernels::gelu(queue, result, result, /*tanh=*/false)
                  : dipu::kernels::unary(queue, dipu::kernels::UnaryOp::kRelu,
                                         result, result));
}

diopiError_t diopiBaddbmm(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                          diopiConstTensorHandle_t input,
                          diopiConstTensorHandle_t batch1,
                          diopiConstTensorHandle_t batch2, double beta,
                          double alpha) {
  return done(addmm(queueOf(ctx), view(out), view(input), view(batch1),
                    view(batch2), alpha, beta));
}

diopiError_t diopiBaddbmmInp(diopiContextHandle_t ctx,
                             diopiTensorHandle_t input,
                             diopiConstTensorHandle_t batch1,
                             diopiConstTensorHandle_t batch2, double beta,
                             double alpha) {
  return done(addmm(queueOf(ctx), view(input), view(input), view(batch1),
                    view(batch2), alpha, beta));
}

diopiError_t diopiLinear(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                         diopiConstTensorHandle_t input,
                         diopiConstTensorHandle_t weight,
                         diopiConstTensorHandle_t bias) {
  return done(
      linear(queueOf(ctx), view(out), view(input), view(weight), view(bias)));
}

}  // extern "C"
