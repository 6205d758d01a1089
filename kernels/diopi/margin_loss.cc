// SPDX-License-Identifier: Apache-2.0
//
// Losses that DIOPI lacks.
#include "kernels/compute/loss/margin_loss.h"

#include <diopi/functions_dipu.h>

#include "kernels/compute/loss/pair_loss.h"
#include "kernels/diopi/tensor_args.h"

using namespace dipu::kernels;         // NOLINT(build/namespaces)
using namespace dipu::kernels::diopi;  // NOLINT(build/namespaces)

namespace {

PairLossArguments huberArguments(diopiConstTensorHandle_t input,
                                 diopiConstTensorHandle_t target,
                                 diopiReduction_t reduction, double delta) {
  PairLossArguments arguments{};
  arguments.kind = PairLossKind::kHuber;
  arguments.reduction = static_cast<Reduction>(reduction);
  arguments.beta = delta;
  arguments.input = view(input);
  arguments.target = view(target);
  return arguments;
}

MultiMarginArguments marginArguments(diopiConstTensorHandle_t input,
                                     diopiConstTensorHandle_t target,
                                     const diopiScalar_t* p,
                                     const diopiScalar_t* margin,
                                     diopiConstTensorHandle_t weight,
                                     diopiReduction_t reduction) {
  const Scalar power = scalar(p);
  const bool whole = static_cast<double>(power.to<int64_t>()) == power.d;
  return {view(input),
          view(target),
          view(weight),
          scalar(margin).to<double>(),
          whole ? power.to<int64_t>() : 0,
          static_cast<Reduction>(reduction)};
}

MultiLabelMarginArguments labelArguments(diopiConstTensorHandle_t input,
                                         diopiConstTensorHandle_t target,
                                         diopiReduction_t reduction) {
  return {view(input), view(target), static_cast<Reduction>(reduction)};
}

}  // namespace

extern "C" {

diopiError_t diopiExtHuberLoss(diopiContextHandle_t ctx,
                               diopiTensorHandle_t out,
                               diopiConstTensorHandle_t input,
                               diopiConstTensorHandle_t target,
                               diopiReduction_t reduction, double delta) {
  return done(pairLoss(queueOf(ctx), view(out),
                       huberArguments(input, target, reduction, delta)));
}

diopiError_t diopiExtHuberLossBackward(
    diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
    diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
    diopiConstTensorHandle_t target, diopiReduction_t reduction, double delta) {
  return done(
      pairLossBackward(queueOf(ctx), view(grad_input), view(grad_output),
                       huberArguments(input, target, reduction, delta)));
}

diopiError_t diopiExtMultiMarginLoss(
    diopiContextHandle_t ctx, diopiTensorHandle_t out,
    diopiConstTensorHandle_t input, diopiConstTensorHandle_t target,
    const diopiScalar_t* p, const diopiScalar_t* margin,
    diopiConstTensorHandle_t weight, diopiReduction_t reduction) {
  return done(multiMarginLoss(
      queueOf(ctx), view(out),
      marginArguments(input, target, p, margin, weight, reduction)));
}

diopiError_t diopiExtMultiMarginLossBackward(
    diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
    diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
    diopiConstTensorHandle_t target, const diopiScalar_t* p,
    const diopiScalar_t* margin, diopiConstTensorHandle_t weight,
    diopiReduction_t reduction) {
  return done(multiMarginLossBackward(
      queueOf(ctx), view(grad_input), view(grad_output),
      marginArguments(input, target, p, margin, weight, reduction)));
}

diopiError_t diopiExtMultilabelMarginLoss(diopiContextHandle_t ctx,
                                          diopiTensorHandle_t out,
                                          diopiTensorHandle_t is_target,
                                          diopiConstTensorHandle_t input,
                                          diopiConstTensorHandle_t target,
                                          diopiReduction_t reduction) {
  return done(multiLabelMarginLoss(queueOf(ctx), view(out), view(is_target),
                                   labelArguments(input, target, reduction)));
}

diopiError_t diopiExtMultilabelMarginLossBackward(
    diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
    diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
    diopiConstTensorHandle_t target, diopiReduction_t reduction,
    diopiConstTensorHandle_t is_target) {
  return done(multiLabelMarginLossBackward(
      queueOf(ctx), view(grad_input), view(grad_output), view(is_target),
      labelArguments(input, target, reduction)));
}

}  // extern "C"
