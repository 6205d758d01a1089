// SPDX-License-Identifier: Apache-2.0
//
// DIOPI functions with a running result.
#include "kernels/compute/scan.h"

#include <diopi/functions.h>
#include <diopi/functions_dipu.h>

#include "kernels/diopi/tensor_args.h"

using namespace dipu::kernels;         // NOLINT(build/namespaces)
using namespace dipu::kernels::diopi;  // NOLINT(build/namespaces)

extern "C" {

diopiError_t diopiCumsum(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                         diopiConstTensorHandle_t input, int64_t dim) {
  return done(cumsum(queueOf(ctx), view(out), view(input), dim));
}

diopiError_t diopiExtCumprod(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                             diopiConstTensorHandle_t input, int64_t dim) {
  return done(cumprod(queueOf(ctx), view(out), view(input), dim));
}

diopiError_t diopiExtLogcumsumexp(diopiContextHandle_t ctx,
                                  diopiTensorHandle_t out,
                                  diopiConstTensorHandle_t input, int64_t dim) {
  return done(logCumsumExp(queueOf(ctx), view(out), view(input), dim));
}

diopiError_t diopiExtCummax(diopiContextHandle_t ctx,
                            diopiTensorHandle_t values,
                            diopiTensorHandle_t indices,
                            diopiConstTensorHandle_t input, int64_t dim) {
  return done(cumExtreme(queueOf(ctx), Running::kMax, view(values),
                         view(indices), view(input), dim));
}

diopiError_t diopiExtCummin(diopiContextHandle_t ctx,
                            diopiTensorHandle_t values,
                            diopiTensorHandle_t indices,
                            diopiConstTensorHandle_t input, int64_t dim) {
  return done(cumExtreme(queueOf(ctx), Running::kMin, view(values),
                         view(indices), view(input), dim));
}

}  // extern "C"
