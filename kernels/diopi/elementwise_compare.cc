// SPDX-License-Identifier: Apache-2.0
//
// DIOPI comparisons and logical operators.
#include <diopi/functions.h>

#include "kernels/compute/binary.h"
#include "kernels/diopi/tensor_args.h"

using namespace dipu::kernels;         // NOLINT(build/namespaces)
using namespace dipu::kernels::diopi;  // NOLINT(build/namespaces)

// Defines the four forms of a comparison by CompareOp::k<Name>. Use: one line
// per comparison.
#define DIPU_COMPARE(Name)                                                    \
  diopiError_t diopi##Name(diopiContextHandle_t ctx, diopiTensorHandle_t out, \
                           diopiConstTensorHandle_t input,                    \
                           diopiConstTensorHandle_t other) {                  \
    return done(compare(queueOf(ctx), CompareOp::k##Name, view(out),          \
                        view(input), view(other)));                           \
  }                                                                           \
  diopiError_t diopi##Name##Inp(diopiContextHandle_t ctx,                     \
                                diopiTensorHandle_t input,                    \
                                diopiConstTensorHandle_t other) {             \
    return done(compare(queueOf(ctx), CompareOp::k##Name, view(input),        \
                        view(input), view(other)));                           \
  }                                                                           \
  diopiError_t diopi##Name##Scalar(                                           \
      diopiContextHandle_t ctx, diopiTensorHandle_t out,                      \
      diopiConstTensorHandle_t input, const diopiScalar_t* other) {           \
    return done(compareScalar(queueOf(ctx), CompareOp::k##Name, view(out),    \
                              view(input), scalar(other)));                   \
  }                                                                           \
  diopiError_t diopi##Name##InpScalar(diopiContextHandle_t ctx,               \
                                      diopiTensorHandle_t input,              \
                                      const diopiScalar_t* other) {           \
    return done(compareScalar(queueOf(ctx), CompareOp::k##Name, view(input),  \
                              view(input), scalar(other)));                   \
  }

// Defines a bitwise operator by LogicalOp::k<Op>, likewise.
#define DIPU_BITWISE(Name, Op)                                                \
  diopiError_t diopi##Name(diopiContextHandle_t ctx, diopiTensorHandle_t out, \
                           diopiConstTensorHandle_t input,                    \
                           diopiConstTensorHandle_t other) {                  \
    return done(bitwise(queueOf(ctx), LogicalOp::k##Op, view(out),            \
                        view(input), view(other)));                           \
  }                                                                           \
  diopiError_t diopi##Name##Inp(diopiContextHandle_t ctx,                     \
                                diopiTensorHandle_t input,                    \
                                diopiConstTensorHandle_t other) {             \
    return done(bitwise(queueOf(ctx), LogicalOp::k##Op, view(input),          \
                        view(input), view(other)));                           \
  }                                                                           \
  diopiError_t diopi##Name##Scalar(                                           \
      diopiContextHandle_t ctx, diopiTensorHandle_t out,                      \
      diopiConstTensorHandle_t input, const diopiScalar_t* other) {           \
    return done(bitwiseScalar(queueOf(ctx), LogicalOp::k##Op, view(out),      \
                              view(input), scalar(other)));                   \
  }                                                                           \
  diopiError_t diopi##Name##InpScalar(diopiContextHandle_t ctx,               \
                                      diopiTensorHandle_t input,              \
                                      const diopiScalar_t* other) {           \
    return done(bitwiseScalar(queueOf(ctx), LogicalOp::k##Op, view(input),    \
                              view(input), scalar(other)));                   \
  }

// Defines a logical operator by LogicalOp::k<Op>, likewise.
#define DIPU_LOGICAL(Name, Op)                                                \
  diopiError_t diopi##Name(diopiContextHandle_t ctx, diopiTensorHandle_t out, \
                           diopiConstTensorHandle_t input,                    \
                           diopiConstTensorHandle_t other) {                  \
    return done(logical(queueOf(ctx), LogicalOp::k##Op, view(out),            \
                        view(input), view(other)));                           \
  }                                                                           \
  diopiError_t diopi##Name##Inp(diopiContextHandle_t ctx,                     \
                                diopiTensorHandle_t input,                    \
                                diopiConstTensorHandle_t other) {             \
    return done(logical(queueOf(ctx), LogicalOp::k##Op, view(input),          \
                        view(input), view(other)));                           \
  }

extern "C" {

DIPU_COMPARE(Eq)
DIPU_COMPARE(Ne)
DIPU_COMPARE(Lt)
DIPU_COMPARE(Le)
DIPU_COMPARE(Gt)
DIPU_COMPARE(Ge)

DIPU_BITWISE(BitwiseAnd, And)
DIPU_BITWISE(BitwiseOr, Or)

DIPU_LOGICAL(LogicalAnd, And)
DIPU_LOGICAL(LogicalOr, Or)

}  // extern "C"
