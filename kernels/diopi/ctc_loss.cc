// SPDX-License-Identifier: Apache-2.0
//
// DIOPI's CTC loss.
#include "kernels/compute/loss/ctc_loss.h"

#include <diopi/functions.h>

#include "kernels/diopi/tensor_args.h"

using namespace dipu::kernels;         // NOLINT(build/namespaces)
using namespace dipu::kernels::diopi;  // NOLINT(build/namespaces)

namespace {

CtcArguments ctcArguments(diopiConstTensorHandle_t log_probs,
                          diopiConstTensorHandle_t targets,
                          diopiConstTensorHandle_t input_lengths,
                          diopiConstTensorHandle_t target_lengths,
                          int64_t blank) {
  return {view(log_probs), view(targets), view(input_lengths),
          view(target_lengths), blank};
}

}  // namespace

extern "C" {

// A null `out` is left out.
diopiError_t diopiCTCLoss(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                          diopiTensorHandle_t neg_log_likelihood,
                          diopiTensorHandle_t log_alpha,
                          diopiConstTensorHandle_t log_probs,
                          diopiConstTensorHandle_t targets,
                          diopiConstTensorHandle_t input_lengths,
                          diopiConstTensorHandle_t target_lengths,
                          int64_t blank, diopiReduction_t reduction,
                          bool zero_infinity) {
  const Queue queue = queueOf(ctx);
  const Status status = ctcLoss(
      queue, view(neg_log_likelihood), view(log_alpha),
      ctcArguments(log_probs, targets, input_lengths, target_lengths, blank));
  if (status != Status::kOk || out == nullptr) return done(status);
  return done(ctcReduce(queue, view(out), view(neg_log_likelihood),
                        view(target_lengths), static_cast<Reduction>(reduction),
                        zero_infinity));
}

diopiError_t diopiCTCLossBackward(
    diopiContextHandle_t ctx, diopiTensorHandle_t grad_input,
    diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t log_probs,
    diopiConstTensorHandle_t targets, diopiConstTensorHandle_t input_lengths,
    diopiConstTensorHandle_t target_lengths,
    diopiConstTensorHandle_t neg_log_likelihood,
    diopiConstTensorHandle_t log_alpha, int64_t blank,
    diopiReduction_t reduction, bool zero_infinity) {
  return done(ctcLossBackward(
      queueOf(ctx), view(grad_input), view(grad_output),
      view(neg_log_likelihood), view(log_alpha),
      ctcArguments(log_probs, targets, input_lengths, target_lengths, blank),
      static_cast<Reduction>(reduction), zero_infinity));
}

}  // extern "C"
