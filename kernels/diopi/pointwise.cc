// SPDX-License-Identifier: Apache-2.0
//
// DIOPI functions of three tensors, choices, bounds and fills.
#include "kernels/compute/pointwise.h"

#include <diopi/functions.h>

#include "kernels/diopi/tensor_args.h"

using namespace dipu::kernels;         // NOLINT(build/namespaces)
using namespace dipu::kernels::diopi;  // NOLINT(build/namespaces)

namespace {

diopiError_t clampNumbers(const Queue& queue, diopiTensorHandle_t out,
                          diopiConstTensorHandle_t input,
                          const diopiScalar_t* min, const diopiScalar_t* max) {
  const Scalar low = scalar(min);
  const Scalar high = scalar(max);
  return done(clampScalar(queue, view(out), view(input),
                          min != nullptr ? &low : nullptr,
                          max != nullptr ? &high : nullptr));
}

diopiError_t clampTensors(const Queue& queue, diopiTensorHandle_t out,
                          diopiConstTensorHandle_t input,
                          diopiConstTensorHandle_t min,
                          diopiConstTensorHandle_t max) {
  return done(clamp(queue, view(out), view(input), view(min), view(max)));
}

diopiError_t fillWith(const Queue& queue, diopiTensorHandle_t out,
                      int64_t value) {
  Scalar number;
  number.is_integer = true;
  number.i = value;
  return done(fill(queue, view(out), number));
}

}  // namespace

extern "C" {

diopiError_t diopiWhere(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                        diopiConstTensorHandle_t condition,
                        diopiConstTensorHandle_t input,
                        diopiConstTensorHandle_t other) {
  return done(where(queueOf(ctx), view(out), view(condition), view(input),
                    view(other)));
}

diopiError_t diopiMaskedFill(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                             diopiConstTensorHandle_t input,
                             diopiConstTensorHandle_t mask,
                             diopiConstTensorHandle_t value) {
  return done(
      where(queueOf(ctx), view(out), view(mask), view(value), view(input)));
}

diopiError_t diopiMaskedFillInp(diopiContextHandle_t ctx,
                                diopiTensorHandle_t input,
                                diopiConstTensorHandle_t mask,
                                diopiConstTensorHandle_t value) {
  return done(
      where(queueOf(ctx), view(input), view(mask), view(value), view(input)));
}

diopiError_t diopiMaskedFillScalar(diopiContextHandle_t ctx,
                                   diopiTensorHandle_t out,
                                   diopiConstTensorHandle_t input,
                                   diopiConstTensorHandle_t mask,
                                   const diopiScalar_t* value) {
  return done(maskedFill(queueOf(ctx), view(out), view(input), view(mask),
                         scalar(value)));
}

diopiError_t diopiMaskedFillInpScalar(diopiContextHandle_t ctx,
                                      diopiTensorHandle_t input,
                                      diopiConstTensorHandle_t mask,
                                      const diopiScalar_t* value) {
  return done(maskedFill(queueOf(ctx), view(input), view(input), view(mask),
                         scalar(value)));
}

diopiError_t diopiAddcmul(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                          diopiConstTensorHandle_t input,
                          diopiConstTensorHandle_t tensor1,
                          diopiConstTensorHandle_t tensor2,
                          const diopiScalar_t* value) {
  return done(addcmul(queueOf(ctx), view(out), view(input), view(tensor1),
                      view(tensor2), scalar(value)));
}

diopiError_t diopiAddcmulInp(diopiContextHandle_t ctx,
                             diopiTensorHandle_t input,
                             diopiConstTensorHandle_t tensor1,
                             diopiConstTensorHandle_t tensor2,
                             const diopiScalar_t* value) {
  return done(addcmul(queueOf(ctx), view(input), view(input), view(tensor1),
                      view(tensor2), scalar(value)));
}

diopiError_t diopiAddcdiv(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                          diopiConstTensorHandle_t input,
                          diopiConstTensorHandle_t tensor1,
                          diopiConstTensorHandle_t tensor2,
                          const diopiScalar_t* value) {
  return done(addcdiv(queueOf(ctx), view(out), view(input), view(tensor1),
                      view(tensor2), scalar(value)));
}

diopiError_t diopiAddcdivInp(diopiContextHandle_t ctx,
                             diopiTensorHandle_t input,
                             diopiConstTensorHandle_t tensor1,
                             diopiConstTensorHandle_t tensor2,
                             const diopiScalar_t* value) {
  return done(addcdiv(queueOf(ctx), view(input), view(input), view(tensor1),
                      view(tensor2), scalar(value)));
}

diopiError_t diopiLerpTensor(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                             diopiConstTensorHandle_t input,
                             diopiConstTensorHandle_t end,
                             diopiConstTensorHandle_t weight) {
  return done(
      lerp(queueOf(ctx), view(out), view(input), view(end), view(weight)));
}

diopiError_t diopiLerpScalar(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                             diopiConstTensorHandle_t input,
                             diopiConstTensorHandle_t end,
                             const diopiScalar_t* weight) {
  return done(lerpScalar(queueOf(ctx), view(out), view(input), view(end),
                         scalar(weight)));
}

diopiError_t diopiClampScalar(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                              diopiConstTensorHandle_t input,
                              const diopiScalar_t* min,
                              const diopiScalar_t* max) {
  return clampNumbers(queueOf(ctx), out, input, min, max);
}

diopiError_t diopiClampInpScalar(diopiContextHandle_t ctx,
                                 diopiTensorHandle_t input,
                                 const diopiScalar_t* min,
                                 const diopiScalar_t* max) {
  return clampNumbers(queueOf(ctx), input, input, min, max);
}

diopiError_t diopiClampMinScalar(diopiContextHandle_t ctx,
                                 diopiTensorHandle_t out,
                                 diopiConstTensorHandle_t input,
                                 const diopiScalar_t* min) {
  return clampNumbers(queueOf(ctx), out, input, min, nullptr);
}

diopiError_t diopiClampMinInpScalar(diopiContextHandle_t ctx,
                                    diopiTensorHandle_t input,
                                    const diopiScalar_t* min) {
  return clampNumbers(queueOf(ctx), input, input, min, nullptr);
}

diopiError_t diopiClampMaxScalar(diopiContextHandle_t ctx,
                                 diopiTensorHandle_t out,
                                 diopiConstTensorHandle_t input,
                                 const diopiScalar_t* max) {
  return clampNumbers(queueOf(ctx), out, input, nullptr, max);
}

diopiError_t diopiClampMaxInpScalar(diopiContextHandle_t ctx,
                                    diopiTensorHandle_t input,
                                    const diopiScalar_t* max) {
  return clampNumbers(queueOf(ctx), input, input, nullptr, max);
}

diopiError_t diopiClamp(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                        diopiConstTensorHandle_t input,
                        diopiConstTensorHandle_t min,
                        diopiConstTensorHandle_t max) {
  return clampTensors(queueOf(ctx), out, input, min, max);
}

diopiError_t diopiClampInp(diopiContextHandle_t ctx, diopiTensorHandle_t input,
                           diopiConstTensorHandle_t min,
                           diopiConstTensorHandle_t max) {
  return clampTensors(queueOf(ctx), input, input, min, max);
}

diopiError_t diopiClampMin(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                           diopiConstTensorHandle_t input,
                           diopiConstTensorHandle_t min) {
  return clampTensors(queueOf(ctx), out, input, min, nullptr);
}

diopiError_t diopiClampMinInp(diopiContextHandle_t ctx,
                              diopiTensorHandle_t input,
                              diopiConstTensorHandle_t min) {
  return clampTensors(queueOf(ctx), input, input, min, nullptr);
}

diopiError_t diopiClampMax(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                           diopiConstTensorHandle_t input,
                           diopiConstTensorHandle_t max) {
  return clampTensors(queueOf(ctx), out, input, nullptr, max);
}

diopiError_t diopiClampMaxInp(diopiContextHandle_t ctx,
                              diopiTensorHandle_t input,
                              diopiConstTensorHandle_t max) {
  return clampTensors(queueOf(ctx), input, input, nullptr, max);
}

diopiError_t diopiFill(diopiContextHandle_t ctx, diopiTensorHandle_t input,
                       const diopiScalar_t* value) {
  return done(fill(queueOf(ctx), view(input), scalar(value)));
}

diopiError_t diopiZeroInp(diopiContextHandle_t ctx, diopiTensorHandle_t self) {
  return fillWith(queueOf(ctx), self, 0);
}

diopiError_t diopiZeros(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                        diopiSize_t /*size*/) {
  return fillWith(queueOf(ctx), out, 0);
}

diopiError_t diopiOnes(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                       diopiSize_t /*size*/) {
  return fillWith(queueOf(ctx), out, 1);
}

diopiError_t diopiArange(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                         const diopiScalar_t* start,
                         const diopiScalar_t* /*end*/,
                         const diopiScalar_t* step) {
  return done(arange(queueOf(ctx), view(out), scalar(start), scalar(step)));
}

diopiError_t diopiLinspace(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                           const diopiScalar_t* start, const diopiScalar_t* end,
                           int64_t steps) {
  return done(
      linspace(queueOf(ctx), view(out), scalar(start), scalar(end), steps));
}

}  // extern "C"
