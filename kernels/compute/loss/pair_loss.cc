// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/loss/pair_loss.h"

#include <algorithm>
#include <cstdio>

#include "kernels/compute/loss/pair_ops.h"
#include "kernels/compute/operands.h"
#include "kernels/compute/parallel.h"
#include "kernels/compute/refusal.h"
#include "kernels/compute/sums.h"

namespace dipu::kernels {
namespace {

constexpr int32_t kCost = 8;

// The state of entropyLoop.
template <typename C>
struct EntropyState {
  const C* input;  // all of it, nullptr where the loop sees copies
  int64_t count;
  bool weighted;
};

template <typename C>
void refuseProbability(const EntropyState<C>& s, const C* x, int64_t count) {
  const C* bad = std::find_if_not(
      x, x + count, [](C value) { return value >= C(0) && value <= C(1); });
  char element[32] = "an element";
  const bool placed = s.input != nullptr && bad >= s.input &&
                      static_cast<int64_t>(bad - s.input) < s.count;
  if (placed) {
    std::snprintf(element, sizeof(element), "element %lld",
                  static_cast<long long>(bad - s.input));
  }
  refuse(
      "all elements of input should be between 0 and 1, but %s is %g; apply "
      "sigmoid, or use binary_cross_entropy_with_logits",
      element, static_cast<double>(*bad));
}

// pairLossLoop of kBinaryEntropy that also looks for what is no probability.
template <typename C>
void entropyLoop(const void* state, void* const* p, int64_t count) {
  const auto s = *static_cast<const EntropyState<C>*>(state);
  const C* x = static_cast<const C*>(p[1]);
  bool valid = true;
  for (int64_t i = 0; i < count; ++i) valid &= x[i] >= C(0) && x[i] <= C(1);
  if (!valid) refuseProbability(s, x, count);
  const PairLossState<C> pair{C(1), C(1), s.weighted, false};
  pairLossLoop<C, PairLossKind::kBinaryEntropy>(&pair, p, count);
}

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
      return &entropyLoop<C>;
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

// Enqueues the loss of each element.
template <typename C>
Status eachLoss(const Queue& queue, const TensorView& out,
                const PairLossArguments& a) {
  const TensorView& weight = a.weight.defined() ? a.weight : a.target;
  const TensorView& pos = a.pos_weight.defined() ? a.pos_weight : a.target;
  const Kernel kernel = makeKernelOf(forwardLoop<C>(a.kind), kDTypeOf<C>, 5);
  const auto launch = [&](const auto& state) {
    return elementwise(queue, kernel, state,
                       {&out, &a.input, &a.target, &weight, &pos});
  };
  if (a.kind == PairLossKind::kBinaryEntropy) {
    const bool in_place =
        a.input.dtype == kDTypeOf<C> && isDense(a.input, Order::kRowMajor);
    return launch(EntropyState<C>{
        in_place ? translateView<const C>(queue, a.input) : nullptr,
        a.input.numel, a.weight.defined()});
  }
  return launch(PairLossState<C>{static_cast<C>(a.beta), C(1),
                                 a.weight.defined(), a.pos_weight.defined()});
}

template <typename C>
Status forward(const Queue& queue, const TensorView& out,
               const PairLossArguments& a) {
  const DType compute = kDTypeOf<C>;
  if (a.reduction == Reduction::kNone) return eachLoss<C>(queue, out, a);
  ScratchTensor each(queue, a.input, compute);
  DenseTensor sum(queue, out, Order::kRowMajor, compute);
  if (!each.valid() || !sum.open()) return Status::kFailed;
  if (a.input.numel > 0) {
    const Status status = eachLoss<C>(queue, each.view(), a);
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
