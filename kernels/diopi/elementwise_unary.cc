// SPDX-License-Identifier: Apache-2.0
//
// DIOPI functions of one tensor, with their in-place forms.
#include <diopi/functions.h>

#include "kernels/compute/unary.h"
#include "kernels/diopi/tensor_args.h"

namespace dipu::kernels::diopi {
namespace {

diopiError_t run(diopiContextHandle_t ctx, UnaryOp op, diopiTensorHandle_t out,
                 diopiConstTensorHandle_t input) {
  return done(unary(queueOf(ctx), op, view(out), view(input)));
}

}  // namespace
}  // namespace dipu::kernels::diopi

// Defines diopi<Name> and diopi<Name>Inp by UnaryOp::k<Op>. Use: one line per
// function.
#define DIPU_UNARY(Name, Op)                                                  \
  diopiError_t diopi##Name(diopiContextHandle_t ctx, diopiTensorHandle_t out, \
                           diopiConstTensorHandle_t input) {                  \
    return dipu::kernels::diopi::run(ctx, dipu::kernels::UnaryOp::k##Op, out, \
                                     input);                                  \
  }                                                                           \
  diopiError_t diopi##Name##Inp(diopiContextHandle_t ctx,                     \
                                diopiTensorHandle_t input) {                  \
    return dipu::kernels::diopi::run(ctx, dipu::kernels::UnaryOp::k##Op,      \
                                     input, input);                           \
  }

extern "C" {

DIPU_UNARY(Abs, Abs)
DIPU_UNARY(Acos, Acos)
DIPU_UNARY(Acosh, Acosh)
DIPU_UNARY(Asin, Asin)
DIPU_UNARY(Asinh, Asinh)
DIPU_UNARY(Atan, Atan)
DIPU_UNARY(Atanh, Atanh)
DIPU_UNARY(BitwiseNot, BitwiseNot)
DIPU_UNARY(Ceil, Ceil)
DIPU_UNARY(Cos, Cos)
DIPU_UNARY(Cosh, Cosh)
DIPU_UNARY(Erf, Erf)
DIPU_UNARY(Erfinv, Erfinv)
DIPU_UNARY(Exp, Exp)
DIPU_UNARY(Expm1, Expm1)
DIPU_UNARY(Floor, Floor)
DIPU_UNARY(Log, Log)
DIPU_UNARY(Log10, Log10)
DIPU_UNARY(Log1p, Log1p)
DIPU_UNARY(Log2, Log2)
DIPU_UNARY(LogicalNot, LogicalNot)
DIPU_UNARY(Neg, Neg)
DIPU_UNARY(Reciprocal, Reciprocal)
DIPU_UNARY(Relu, Relu)
DIPU_UNARY(Rsqrt, Rsqrt)
DIPU_UNARY(Sgn, Sign)
DIPU_UNARY(Sigmoid, Sigmoid)
DIPU_UNARY(Sin, Sin)
DIPU_UNARY(Sinh, Sinh)
DIPU_UNARY(Sqrt, Sqrt)
DIPU_UNARY(Tan, Tan)
DIPU_UNARY(Tanh, Tanh)

#undef DIPU_UNARY

diopiError_t diopiSign(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                       diopiConstTensorHandle_t input) {
  return dipu::kernels::diopi::run(ctx, dipu::kernels::UnaryOp::kSign, out,
                                   input);
}

diopiError_t diopiIsNan(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                        diopiConstTensorHandle_t input) {
  return dipu::kernels::diopi::run(ctx, dipu::kernels::UnaryOp::kIsNan, out,
                                   input);
}

}  // extern "C"
