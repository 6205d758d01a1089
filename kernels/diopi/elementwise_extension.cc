// SPDX-License-Identifier: Apache-2.0
//
// DIPU's extension: arithmetic, logic and membership that DIOPI lacks.
#include <diopi/functions_dipu.h>

#include "kernels/compute/binary.h"
#include "kernels/compute/membership.h"
#include "kernels/diopi/tensor_args.h"

using namespace dipu::kernels;         // NOLINT(build/namespaces)
using namespace dipu::kernels::diopi;  // NOLINT(build/namespaces)

// Defines diopiExt<Name> by the compute function of two tensors. Use: one line
// per function.
#define DIPU_BINARY(Name, function)                                           \
  diopiError_t diopiExt##Name(                                                \
      diopiContextHandle_t ctx, diopiTensorHandle_t out,                      \
      diopiConstTensorHandle_t input, diopiConstTensorHandle_t other) {       \
    return done(dipu::kernels::function(queueOf(ctx), view(out), view(input), \
                                        view(other)));                        \
  }

extern "C" {

DIPU_BINARY(BitwiseLeftShift, shiftLeft)
DIPU_BINARY(BitwiseRightShift, shiftRight)
DIPU_BINARY(Fmax, fmax)
DIPU_BINARY(Fmin, fmin)
DIPU_BINARY(Fmod, fmod)
DIPU_BINARY(Gcd, gcd)
DIPU_BINARY(Heaviside, heaviside)
DIPU_BINARY(Lcm, lcm)

#undef DIPU_BINARY

diopiError_t diopiExtFmodScalar(diopiContextHandle_t ctx,
                                diopiTensorHandle_t out,
                                diopiConstTensorHandle_t input,
                                const diopiScalar_t* other) {
  return done(fmodScalar(queueOf(ctx), view(out), view(input), scalar(other)));
}

diopiError_t diopiExtBitwiseXor(diopiContextHandle_t ctx,
                                diopiTensorHandle_t out,
                                diopiConstTensorHandle_t input,
                                diopiConstTensorHandle_t other) {
  return done(bitwise(queueOf(ctx), LogicalOp::kXor, view(out), view(input),
                      view(other)));
}

diopiError_t diopiExtBitwiseXorScalar(diopiContextHandle_t ctx,
                                      diopiTensorHandle_t out,
                                      diopiConstTensorHandle_t input,
                                      const diopiScalar_t* other) {
  return done(bitwiseScalar(queueOf(ctx), LogicalOp::kXor, view(out),
                            view(input), scalar(other)));
}

diopiError_t diopiExtLogicalXor(diopiContextHandle_t ctx,
                                diopiTensorHandle_t out,
                                diopiConstTensorHandle_t input,
                                diopiConstTensorHandle_t other) {
  return done(logical(queueOf(ctx), LogicalOp::kXor, view(out), view(input),
                      view(other)));
}

diopiError_t diopiExtIsin(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                          diopiConstTensorHandle_t elements,
                          diopiConstTensorHandle_t test_elements, bool invert) {
  return done(isIn(queueOf(ctx), view(out), view(elements), view(test_elements),
                   invert));
}

diopiError_t diopiExtIsinElement(diopiContextHandle_t ctx,
                                 diopiTensorHandle_t out,
                                 const diopiScalar_t* element,
                                 diopiConstTensorHandle_t test_elements,
                                 bool invert) {
  return done(isScalarIn(queueOf(ctx), view(out), scalar(element),
                         view(test_elements), invert));
}

diopiError_t diopiExtIsinScalar(diopiContextHandle_t ctx,
                                diopiTensorHandle_t out,
                                diopiConstTensorHandle_t elements,
                                const diopiScalar_t* test_element,
                                bool invert) {
  return done(compareScalar(queueOf(ctx),
                            invert ? CompareOp::kNe : CompareOp::kEq, view(out),
                            view(elements), scalar(test_element)));
}

}  // extern "C"
