// SPDX-License-Identifier: Apache-2.0
//
// DIOPI functions of one tensor, with their in-place forms.
#include <diopi/functions.h>

#include "kernels/compute/unary.h"
#include "kernels/diopi/tensor_args.h"

using namespace dipu::kernels;         // NOLINT(build/namespaces)
using namespace dipu::kernels::diopi;  // NOLINT(build/namespaces)

// Defines diopi<Name> by UnaryOp::k<Op>. Use: one line per function without an
// in-place form.
#define DIPU_UNARY_ONLY(Name, Op)                                             \
  diopiError_t diopi##Name(diopiContextHandle_t ctx, diopiTensorHandle_t out, \
                           diopiConstTensorHandle_t input) {                  \
    return done(unary(queueOf(ctx), UnaryOp::k##Op, view(out), view(input))); \
  }

// Defines diopi<Name> and diopi<Name>Inp, likewise.
#define DIPU_UNARY(Name, Op)                                          \
  DIPU_UNARY_ONLY(Name, Op)                                           \
  diopiError_t diopi##Name##Inp(diopiContextHandle_t ctx,             \
                                diopiTensorHandle_t input) {          \
    const TensorView tensor = view(input);                            \
    return done(unary(queueOf(ctx), UnaryOp::k##Op, tensor, tensor)); \
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

DIPU_UNARY_ONLY(IsNan, IsNan)
DIPU_UNARY_ONLY(Sign, Sign)

#undef DIPU_UNARY
#undef DIPU_UNARY_ONLY

}  // extern "C"
