// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/loss/pair_loss.h"

#include <algorithm>

#include "kernels/compute/loss/pair_ops.h"
#include "kernels/compute/operands.h"
#include "kernels/compute/parallel.h"
#include "kernels/compute/sums.h"

namespace dipu::kernels {
namespace {

constexpr int32_t kCost = 8;

template <typename C>
DenseLoop forwardLoop(PairLossKind kind) {
  switch (kind) {
    case PairLossKind::kSquared:
      return &pairLossLoop<C, PairLossKind::kSquared>;
    case PairLossKind::kSmoothL1:
      return &pairLossLoop<C, PairLossKind::kSmoothL1>;
    case PairLossKind::kHuber:
      return &pairLossLoop<C, PairLossKind::kHuber>;
    case PairLossKind::kBinaryEntropy:
      return &pairLossLoop<C, PairLossKind::kBinaryEntropy>;
    default:
      return &pairLossLoop<C, PairLossKind::kBinaryEntropyLogits>;
  }
}

template <typename C>
DenseLoop backwardLoop(PairLossKind kind) {
  switch (kind) {
    case PairLossKind::kSquared:
      return &pairLossBackwardLoop<C, PairLossKind::kSquared>;
    case PairLossKind::kSmoothL1:
      return &pairLossBackwardLoop<C, PairLossKind::kSmoothL1>;
    case PairLossKind::kHuber:
      return &pairLossBackwardLoop<C, PairLossKind::kHuber>;
    case PairLossKind::kBinaryEntropy:
      return &pairLossBackwardLoop<C, PairLossKind::kBinaryEntropy>;
    default:
      return &pairLossBackwardLoop<C, PairLossKind::kBinaryEntropyLogits>;
  }
}

Kernel makeKernelOf(DenseLoop loop, DType compute, int32_t operands) {
  Kernel kernel;
  kernel.loop = loop;
  kernel.operands = operands;
  kernel.cost = kCost;
  std::fill(kernel.types, kernel.types + operands, compute);
  return kernel;
}

// Enqueues out = sum of `count` dense elements at `from`, divided for a mean.
template <typename C>
Status reduce(const Queue& queue, void* out, const void* from, int64_t count,
              Reduction reduction) {
  constexpr int64_t kBlocks = 64;
  const double divisor =
      reduction == Reduction::kMean ? static_cast<double>(count) : 1.0;
  const bool sent = queue.launch([=] {
    double partial[kBlocks];
    const C* x = static_cast<const C*>(from);
    const int64_t grain = grainFor(std::max<int64_t>(1, count / kBlocks));
    parallelFor(kBlocks, grain, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        const int64_t first = count * b / kBlocks;
        const int64_t last = count * (b + 1) / kBlocks;
        partial[b] =
            sumTerms<C>(last - first, [&](int64_t i) { return x[first + i]; });
      }
    });
    double total = 0;
    for (double part : partial) total += part;
    *static_cast<C*>(out) = static_cast<C>(total / divisor);
  });
  return sent ? Status::kOk : Status::kFailed;
}

template <typename C>
Status forward(const Queue& queue, const TensorView& out,
               const PairLossArguments& a) {
  const DType compute = kDTypeOf<C>;
  const PairLossState<C> state{static_cast<C>(a.beta), C(1), a.weight.defined(),
                               a.pos_weight.defined()};
  const TensorView& weight = a.weight.defined() ? a.weight : a.target;
  const TensorView& pos = a.pos_weight.defined() ? a.pos_weight : a.target;
  const Kernel kernel = makeKernelOf(forwardLoop<C>(a.kind), compute, 5);
  if (a.reduction == Reduction::kNone) {
    return elementwise(queue, kernel, state,
                       {&out, &a.input, &a.target, &weight, &pos});
  }
  ScratchTensor each(queue, a.input, compute);
  DenseTensor sum(queue, out, Order::kRowMajor, compute);
  if (!each.valid() || !sum.open()) return Status::kFailed;
  if (a.input.numel > 0) {
    const Status status =
        elementwise(queue, kernel, state,
                    {&each.view(), &a.input, &a.target, &weight, &pos});
    if (status != Status::kOk) return status;
  }
  const Status status = reduce<C>(queue, sum.address(), each.address(),
                                  a.input.numel, a.reduction);
  return status == Status::kOk ? sum.store() : status;
}

template <typename C>
Status backward(const Queue& queue, const TensorView& grad_input,
                const TensorView& grad_output, const PairLossArguments& a) {
  const double scale = a.reduction == Reduction::kMean
                           ? 1.0 / static_cast<double>(a.input.numel)
                           : 1.0;
  const PairLossState<C> state{static_cast<C>(a.beta), static_cast<C>(scale),
                               a.weight.defined(), a.pos_weight.defined()};
  const TensorView& weight = a.weight.defined() ? a.weight : a.target;
  const TensorView& pos = a.pos_weight.defined() ? a.pos_weight : a.target;
  return elementwise(
      queue, makeKernelOf(backwardLoop<C>(a.kind), kDTypeOf<C>, 6), state,
      {&grad_input, &grad_output, &a.input, &a.target, &weight, &pos});
}

}  // namespace

Status pairLoss(const Queue& queue, const TensorView& out,
                const PairLossArguments& arguments) {
  if (!isFloating(arguments.input.dtype)) {
    return unsupportedDType("loss", arguments.input.dtype);
  }
  if (arguments.reduction != Reduction::kNone && out.numel != 1) {
    return fail(Status::kInvalid, "loss: a reduced loss is a scalar, not %ld",
                long(out.numel));
  }
  if (arguments.reduction == Reduction::kNone && out.numel == 0) {
    return Status::kOk;
  }
  return arguments.input.dtype == DType::kFloat64
             ? forward<double>(queue, out, arguments)
             : forward<float>(queue, out, arguments);
}

Status pairLossBackward(const Queue& queue, const TensorView& grad_input,
                        const TensorView& grad_output,
                        const PairLossArguments& arguments) {
  if (!isFloating(arguments.input.dtype)) {
    return unsupportedDType("loss_backward", arguments.input.dtype);
  }
  if (grad_input.numel == 0) return Status::kOk;
  return arguments.input.dtype == DType::kFloat64
             ? backward<double>(queue, grad_input, grad_output, arguments)
             : backward<float>(queue, grad_input, grad_output, arguments);
}

}  // namespace dipu::kernels
