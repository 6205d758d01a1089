// SPDX-License-Identifier: Apache-2.0
//
// DIOPI's losses.
#include <diopi/functions.h>

#include "kernels/compute/loss/nll_loss.h"
#include "kernels/compute/loss/pair_loss.h"
#include "kernels/diopi/tensor_args.h"

namespace {

using dipu::kernels::NllArguments;
using dipu::kernels::PairLossArguments;
using dipu::kernels::PairLossKind;
using dipu::kernels::Reduction;
using dipu::kernels::TensorView;
using dipu::kernels::diopi::done;
using dipu::kernels::diopi::queueOf;
using dipu::kernels::diopi::view;

PairLossArguments pairArguments(PairLossKind kind, diopiReduction_t reduction,
                                diopiConstTensorHandle_t input,
                                diopiConstTensorHandle_t target) {
  PairLossArguments arguments{};
  arguments.kind = kind;
  arguments.reduction = static_cast<Reduction>(reduction);
  arguments.input = view(input);
  arguments.target = view(target);
  return arguments;
}

NllArguments nllArguments(diopiConstTensorHandle_t input,
                          diopiConstTensorHandle_t target,
                          diopiConstTensorHandle_t weight,
                          diopiReduction_t reduction, int64_t ignore_index) {
  return {view(input), view(target), view(weight),
          static_cast<Reduction>(reduction), ignore_index};
}

}  // namespace

extern "C" {

diopiError_t diopiMSELoss(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                          diopiConstTensorHandle_t input,
                          diopiConstTensorHandle_t target,
                          diopiReduction_t reduction) {
  return done(dipu::kernels::pairLoss(
      queueOf(ctx), view(out),
      pairArguments(PairLossKind::kSquared, reduction, input, target)));
}

diopiError_t diopiMSELossBackward(diopiContextHandle_t ctx,
                                  diopiTensorHandle_t grad_input,
                                  diopiConstTensorHandle_t grad_output,
                                  diopiConstTensorHandle_t input,
                                  diopiConstTensorHandle_t target,
                                  diopiReduction_t reduction) {
  return done(dipu::kernels::pairLossBackward(
      queueOf(ctx), view(grad_input), view(grad_output),
      pairArguments(PairLossKind::kSquared, reduction, input, target)));
}

diopiError_t diopiSmoothL1Loss(diopiContextHandle_t ctx,
                               diopiTensorHandle_t out,
                               diopiConstTensorHandle_t input,
                               diopiConstTensorHandle_t target,
                               diopiReduction_t reduction, double beta) {
  PairLossArguments arguments =
      pairArguments(PairLossKind::kSmoothL1, reduction, input, target);
  arguments.beta = beta;
  return done(dipu::kernels::pairLoss(queueOf(ctx), view(out), arguments));
}

diopiError_t diopiSmoothL1LossBackward(
    diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
    diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
    diopiConstTensorHandle_t target, diopiReduction_t reduction, double beta) {
  PairLossArguments arguments =
      pairArguments(PairLossKind::kSmoothL1, reduction, input, target);
  arguments.beta = beta;
  return done(dipu::kernels::pairLossBackward(queueOf(ctx), view(grad_input),
                                              view(grad_output), arguments));
}

diopiError_t diopiBCELoss(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                          diopiConstTensorHandle_t input,
                          diopiConstTensorHandle_t target,
                          diopiConstTensorHandle_t weight,
                          diopiReduction_t reduction) {
  PairLossArguments arguments =
      pairArguments(PairLossKind::kBinaryEntropy, reduction, input, target);
  arguments.weight = view(weight);
  return done(dipu::kernels::pairLoss(queueOf(ctx), view(out), arguments));
}

diopiError_t diopiBCELossBackward(diopiContextHandle_t ctx,
                                  diopiTensorHandle_t grad_input,
                                  diopiConstTensorHandle_t grad_output,
                                  diopiConstTensorHandle_t input,
                                  diopiConstTensorHandle_t target,
                                  diopiConstTensorHandle_t weight,
                                  diopiReduction_t reduction) {
  PairLossArguments arguments =
      pairArguments(PairLossKind::kBinaryEntropy, reduction, input, target);
  arguments.weight = view(weight);
  return done(dipu::kernels::pairLossBackward(queueOf(ctx), view(grad_input),
                                              view(grad_output), arguments));
}

diopiError_t diopiBCEWithLogits(diopiContextHandle_t ctx,
                                diopiTensorHandle_t out,
                                diopiConstTensorHandle_t input,
                                diopiConstTensorHandle_t target,
                                diopiConstTensorHandle_t weight,
                                diopiConstTensorHandle_t pos_weight,
                                diopiReduction_t reduction) {
  PairLossArguments arguments = pairArguments(
      PairLossKind::kBinaryEntropyLogits, reduction, input, target);
  arguments.weight = view(weight);
  arguments.pos_weight = view(pos_weight);
  return done(dipu::kernels::pairLoss(queueOf(ctx), view(out), arguments));
}

diopiError_t diopiBCEWithLogitsBackward(
    diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
    diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
    diopiConstTensorHandle_t target, diopiConstTensorHandle_t weight,
    diopiConstTensorHandle_t pos_weight, diopiReduction_t reduction) {
  PairLossArguments arguments = pairArguments(
      PairLossKind::kBinaryEntropyLogits, reduction, input, target);
  arguments.weight = view(weight);
  arguments.pos_weight = view(pos_weight);
  return done(dipu::kernels::pairLossBackward(queueOf(ctx), view(grad_input),
                                              view(grad_output), arguments));
}

diopiError_t diopiNLLLoss(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                          diopiConstTensorHandle_t input,
                          diopiConstTensorHandle_t target,
                          diopiConstTensorHandle_t weight,
                          diopiReduction_t reduction, int64_t ignore_index) {
  return done(dipu::kernels::nllLoss(
      queueOf(ctx), view(out), TensorView(),
      nllArguments(input, target, weight, reduction, ignore_index)));
}

diopiError_t diopiNLLLossBackward(
    diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
    diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
    diopiConstTensorHandle_t target, diopiConstTensorHandle_t weight,
    diopiReduction_t reduction, int64_t ignore_index) {
  return done(dipu::kernels::nllLossBackward(
      queueOf(ctx), view(grad_input), view(grad_output), TensorView(),
      nllArguments(input, target, weight, reduction, ignore_index)));
}

diopiError_t diopiNLLLossV2(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                            diopiTensorHandle_t totalWeight,
                            diopiConstTensorHandle_t input,
                            diopiConstTensorHandle_t target,
                            diopiConstTensorHandle_t weight,
                            diopiReduction_t reduction, int64_t ignore_index) {
  return done(dipu::kernels::nllLoss(
      queueOf(ctx), view(out), view(totalWeight),
      nllArguments(input, target, weight, reduction, ignore_index)));
}

diopiError_t diopiNLLLossV2Backward(
    diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
    diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
    diopiConstTensorHandle_t target, diopiConstTensorHandle_t weight,
    diopiConstTensorHandle_t totalWeight, diopiReduction_t reduction,
    int64_t ignore_index) {
  return done(dipu::kernels::nllLossBackward(
      queueOf(ctx), view(grad_input), view(grad_output), view(totalWeight),
      nllArguments(input, target, weight, reduction, ignore_index)));
}

}  // extern "C"
