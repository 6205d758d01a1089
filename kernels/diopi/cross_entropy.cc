// SPDX-License-Identifier: Apache-2.0
//
// DIOPI's cross entropy.
#include "kernels/compute/loss/cross_entropy.h"

#include <diopi/functions.h>

#include "kernels/compute/dtype.h"
#include "kernels/diopi/tensor_args.h"

using namespace dipu::kernels;         // NOLINT(build/namespaces)
using namespace dipu::kernels::diopi;  // NOLINT(build/namespaces)

namespace {

// Targets that are probabilities, and smoothed ones, have no kernel.
bool areClasses(const TensorView& target, double label_smoothing) {
  return label_smoothing == 0 && !isFloating(target.dtype);
}

}  // namespace

extern "C" {

diopiError_t diopiCrossEntropyLoss(
    diopiContextHandle_t ctx, diopiTensorHandle_t out,
    diopiConstTensorHandle_t input, diopiConstTensorHandle_t target,
    diopiConstTensorHandle_t weight, diopiReduction_t reduction,
    int64_t ignore_index, double label_smoothing) {
  if (!areClasses(view(target), label_smoothing)) return diopiNoImplement;
  return done(crossEntropy(queueOf(ctx), view(out),
                           {view(input), view(target), view(weight),
                            static_cast<Reduction>(reduction), ignore_index}));
}

diopiError_t diopiCrossEntropyLossBackward(
    diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
    diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
    diopiConstTensorHandle_t target, diopiConstTensorHandle_t weight,
    diopiReduction_t reduction, int64_t ignore_index, double label_smoothing) {
  if (!areClasses(view(target), label_smoothing)) return diopiNoImplement;
  return done(
      crossEntropyBackward(queueOf(ctx), view(grad_input), view(grad_output),
                           {view(input), view(target), view(weight),
                            static_cast<Reduction>(reduction), ignore_index}));
}

}  // extern "C"
