// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/loss/cross_entropy.h"

#include "kernels/compute/operands.h"
#include "kernels/compute/softmax/softmax.h"

namespace dipu::kernels {
namespace {

Status check(const NllArguments& a) {
  if (!isFloating(a.input.dtype)) {
    return unsupportedDType("cross_entropy", a.input.dtype);
  }
  if (a.input.ndim < 1) {
    return fail(Status::kInvalid, "cross_entropy: the input has no classes");
  }
  return Status::kOk;
}

Status logarithms(const Queue& queue, const ScratchTensor& to,
                  const TensorView& input) {
  if (!to.valid()) return Status::kFailed;
  return softmax(queue, SoftmaxKind::kLog, to.view(), input,
                 input.ndim == 1 ? 0 : 1);
}

}  // namespace

Status crossEntropy(const Queue& queue, const TensorView& out,
                    const NllArguments& arguments) {
  Status status = check(arguments);
  if (status != Status::kOk) return status;
  const ScratchTensor logs(queue, arguments.input, arguments.input.dtype);
  status = logarithms(queue, logs, arguments.input);
  if (status != Status::kOk) return status;
  NllArguments likelihood = arguments;
  likelihood.input = logs.view();
  return nllLoss(queue, out, TensorView(), likelihood);
}

Status crossEntropyBackward(const Queue& queue, const TensorView& grad_input,
                            const TensorView& grad_output,
                            const NllArguments& arguments) {
  Status status = check(arguments);
  if (status != Status::kOk || grad_input.numel == 0) return status;
  const ScratchTensor logs(queue, arguments.input, arguments.input.dtype);
  const ScratchTensor grads(queue, arguments.input, arguments.input.dtype);
  if (!grads.valid()) return Status::kFailed;
  status = logarithms(queue, logs, arguments.input);
  if (status != Status::kOk) return status;
  NllArguments likelihood = arguments;
  likelihood.input = logs.view();
  status = nllLossBackward(queue, grads.view(), grad_output, TensorView(),
                           likelihood);
  if (status != Status::kOk) return status;
  return softmaxBackward(queue, SoftmaxKind::kLog, grad_input, grads.view(),
                         logs.view(), arguments.input.ndim == 1 ? 0 : 1);
}

}  // namespace dipu::kernels
