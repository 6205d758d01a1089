// SPDX-License-Identifier: Apache-2.0
//
// DIOPI comparisons and logical operators.
#include <diopi/functions.h>

#include "kernels/compute/binary.h"
#include "kernels/diopi/tensor_args.h"

namespace dipu::kernels::diopi {
namespace {

diopiError_t run(diopiContextHandle_t ctx, CompareOp op,
                 diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                 diopiConstTensorHandle_t other) {
  return done(compare(queueOf(ctx), op, view(out), view(input), view(other)));
}

diopiError_t run(diopiContextHandle_t ctx, CompareOp op,
                 diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                 const diopiScalar_t* other) {
  return done(
      compareScalar(queueOf(ctx), op, view(out), view(input), scalar(other)));
}

}  // namespace
}  // namespace dipu::kernels::diopi

// Defines the four forms of a comparison by CompareOp::k<Name>. Use: one line
// per comparison.
#define DIPU_COMPARE(Name)                                                    \
  diopiError_t diopi##Name(diopiContextHandle_t ctx, diopiTensorHandle_t out, \
                           diopiConstTensorHandle_t input,                    \
                           diopiConstTensorHandle_t other) {                  \
    return dipu::kernels::diopi::run(ctx, dipu::kernels::CompareOp::k##Name,  \
                                     out, input, other);                      \
  }                                                                           \
  diopiError_t diopi##Name##Inp(diopiContextHandle_t ctx,                     \
                                diopiTensorHandle_t input,                    \
                                diopiConstTensorHandle_t other) {             \
    return diopi##Name(ctx, input, input, other);                             \
  }                                                                           \
  diopiError_t diopi##Name##Scalar(                                           \
      diopiContextHandle_t ctx, diopiTensorHandle_t out,                      \
      diopiConstTensorHandle_t input, const diopiScalar_t* other) {           \
    return dipu::kernels::diopi::run(ctx, dipu::kernels::CompareOp::k##Name,  \
                                     out, input, other);                      \
  }                                                                           \
  diopiError_t diopi##Name##InpScalar(diopiContextHandle_t ctx,               \
                                      diopiTensorHandle_t input,              \
                                      const diopiScalar_t* other) {           \
    return diopi##Name##Scalar(ctx, input, input, other);                     \
  }

// Defines a bitwise operator by LogicalOp::k<Op>, likewise.
#define DIPU_BITWISE(Name, Op)                                                \
  diopiError_t diopi##Name(diopiContextHandle_t ctx, diopiTensorHandle_t out, \
                           diopiConstTensorHandle_t input,                    \
                           diopiConstTensorHandle_t other) {                  \
    using namespace dipu::kernels; /* NOLINT(build/namespaces) */             \
    return diopi::done(bitwise(diopi::queueOf(ctx), LogicalOp::k##Op,         \
                               diopi::view(out), diopi::view(input),          \
                               diopi::view(other)));                          \
  }                                                                           \
  diopiError_t diopi##Name##Inp(diopiContextHandle_t ctx,                     \
                                diopiTensorHandle_t input,                    \
                                diopiConstTensorHandle_t other) {             \
    return diopi##Name(ctx, input, input, other);                             \
  }                                                                           \
  diopiError_t diopi##Name##Scalar(                                           \
      diopiContextHandle_t ctx, diopiTensorHandle_t out,                      \
      diopiConstTensorHandle_t input, const diopiScalar_t* other) {           \
    using namespace dipu::kernels; /* NOLINT(build/namespaces) */             \
    return diopi::done(bitwiseScalar(diopi::queueOf(ctx), LogicalOp::k##Op,   \
                                     diopi::view(out), diopi::view(input),    \
                                     diopi::scalar(other)));                  \
  }                                                                           \
  diopiError_t diopi##Name##InpScalar(diopiContextHandle_t ctx,               \
                                      diopiTensorHandle_t input,              \
                                      const diopiScalar_t* other) {           \
    return diopi##Name##Scalar(ctx, input, input, other);                     \
  }

// Defines a logical operator by LogicalOp::k<Op>, likewise.
#define DIPU_LOGICAL(Name, Op)                                                \
  diopiError_t diopi##Name(diopiContextHandle_t ctx, diopiTensorHandle_t out, \
                           diopiConstTensorHandle_t input,                    \
                           diopiConstTensorHandle_t other) {                  \
    using namespace dipu::kernels; /* NOLINT(build/namespaces) */             \
    return diopi::done(logical(diopi::queueOf(ctx), LogicalOp::k##Op,         \
                               diopi::view(out), diopi::view(input),          \
                               diopi::view(other)));                          \
  }                                                                           \
  diopiError_t diopi##Name##Inp(diopiContextHandle_t ctx,                     \
                                diopiTensorHandle_t input,                    \
                                diopiConstTensorHandle_t other) {             \
    return diopi##Name(ctx, input, input, other);                             \
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
