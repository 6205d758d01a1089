// SPDX-License-Identifier: Apache-2.0
//
// DIPU's extension: special functions.
#include "kernels/compute/special/special.h"

#include <diopi/functions_dipu.h>

#include "kernels/diopi/tensor_args.h"

using namespace dipu::kernels;         // NOLINT(build/namespaces)
using namespace dipu::kernels::diopi;  // NOLINT(build/namespaces)

// Defines diopiExt<Name> by SpecialOp::k<Op>. Use: one line per function.
#define DIPU_SPECIAL(Name, Op)                                                 \
  diopiError_t diopiExt##Name(diopiContextHandle_t ctx,                        \
                              diopiTensorHandle_t out,                         \
                              diopiConstTensorHandle_t input) {                \
    return done(                                                               \
        specialUnary(queueOf(ctx), SpecialOp::k##Op, view(out), view(input))); \
  }

// Defines diopiExt<Name> by SpecialBinaryOp::k<Op>, likewise.
#define DIPU_SPECIAL_BINARY(Name, Op)                                          \
  diopiError_t diopiExt##Name(                                                 \
      diopiContextHandle_t ctx, diopiTensorHandle_t out,                       \
      diopiConstTensorHandle_t input, diopiConstTensorHandle_t other) {        \
    return done(specialBinary(queueOf(ctx), SpecialBinaryOp::k##Op, view(out), \
                              view(input), view(other)));                      \
  }

extern "C" {

DIPU_SPECIAL(AiryAi, AiryAi)
DIPU_SPECIAL(BesselJ0, BesselJ0)
DIPU_SPECIAL(BesselJ1, BesselJ1)
DIPU_SPECIAL(BesselY0, BesselY0)
DIPU_SPECIAL(BesselY1, BesselY1)
DIPU_SPECIAL(Digamma, Digamma)
DIPU_SPECIAL(Entr, Entr)
DIPU_SPECIAL(Erfc, Erfc)
DIPU_SPECIAL(Erfcx, Erfcx)
DIPU_SPECIAL(Exp2, Exp2)
DIPU_SPECIAL(I0, I0)
DIPU_SPECIAL(I0e, I0e)
DIPU_SPECIAL(I1, I1)
DIPU_SPECIAL(I1e, I1e)
DIPU_SPECIAL(Lgamma, Lgamma)
DIPU_SPECIAL(LogNdtr, LogNdtr)
DIPU_SPECIAL(ModifiedBesselK0, K0)
DIPU_SPECIAL(ModifiedBesselK1, K1)
DIPU_SPECIAL(Ndtri, Ndtri)
DIPU_SPECIAL(ScaledModifiedBesselK0, K0e)
DIPU_SPECIAL(ScaledModifiedBesselK1, K1e)
DIPU_SPECIAL(Sinc, Sinc)
DIPU_SPECIAL(SphericalBesselJ0, SphericalJ0)

DIPU_SPECIAL_BINARY(Atan2, Atan2)
DIPU_SPECIAL_BINARY(ChebyshevT, ChebyshevT)
DIPU_SPECIAL_BINARY(ChebyshevU, ChebyshevU)
DIPU_SPECIAL_BINARY(ChebyshevV, ChebyshevV)
DIPU_SPECIAL_BINARY(ChebyshevW, ChebyshevW)
DIPU_SPECIAL_BINARY(HermiteH, HermiteH)
DIPU_SPECIAL_BINARY(HermiteHe, HermiteHe)
DIPU_SPECIAL_BINARY(Hypot, Hypot)
DIPU_SPECIAL_BINARY(LaguerreL, LaguerreL)
DIPU_SPECIAL_BINARY(LegendreP, LegendreP)
DIPU_SPECIAL_BINARY(LogAddExp, LogAddExp)
DIPU_SPECIAL_BINARY(LogAddExp2, LogAddExp2)
DIPU_SPECIAL_BINARY(LowerGamma, LowerGamma)
DIPU_SPECIAL_BINARY(ShiftedChebyshevT, ShiftedChebyshevT)
DIPU_SPECIAL_BINARY(ShiftedChebyshevU, ShiftedChebyshevU)
DIPU_SPECIAL_BINARY(ShiftedChebyshevV, ShiftedChebyshevV)
DIPU_SPECIAL_BINARY(ShiftedChebyshevW, ShiftedChebyshevW)
DIPU_SPECIAL_BINARY(UpperGamma, UpperGamma)
DIPU_SPECIAL_BINARY(XLog1pY, XLog1pY)
DIPU_SPECIAL_BINARY(XLogY, XLogY)
DIPU_SPECIAL_BINARY(Zeta, Zeta)

#undef DIPU_SPECIAL
#undef DIPU_SPECIAL_BINARY

diopiError_t diopiExtPolygamma(diopiContextHandle_t ctx,
                               diopiTensorHandle_t out, int64_t n,
                               diopiConstTensorHandle_t input) {
  return done(polygamma(queueOf(ctx), view(out), n, view(input)));
}

diopiError_t diopiExtLogit(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                           diopiConstTensorHandle_t input, const double* eps) {
  return done(logit(queueOf(ctx), view(out), view(input), eps));
}

diopiError_t diopiExtLogitBackward(diopiContextHandle_t ctx,
                                   diopiTensorHandle_t grad_input,
                                   diopiConstTensorHandle_t grad_output,
                                   diopiConstTensorHandle_t input,
                                   const double* eps) {
  return done(logitBackward(queueOf(ctx), view(grad_input), view(grad_output),
                            view(input), eps));
}

}  // extern "C"
