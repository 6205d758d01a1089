// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/loss/nll_loss.h"

#include <algorithm>

#include "kernels/compute/operands.h"
#include "kernels/compute/parallel.h"
#include "kernels/compute/refusal.h"
#include "kernels/compute/sums.h"

namespace dipu::kernels {
namespace {

// [samples, classes, pixels] in row-major order.
struct Shape {
  int64_t samples;
  int64_t classes;
  int64_t pixels;

  int64_t targets() const { return samples * pixels; }
};

Shape shapeOf(const TensorView& input) {
  if (input.ndim == 1) return {1, input.sizes[0], 1};
  Shape shape{input.sizes[0], input.sizes[1], 1};
  for (int32_t i = 2; i < input.ndim; ++i) shape.pixels *= input.sizes[i];
  return shape;
}

// Targets, checked, with their weights.
template <typename C>
struct Targets {
  Shape shape;
  const int64_t* target;
  const C* weight;
  int64_t ignore_index;

  // Class of target i, -1 for one that counts nothing.
  int64_t classOf(int64_t i) const {
    const int64_t value = target[i];
    if (value == ignore_index) return -1;
    if (value >= 0 && value < shape.classes) return value;
    refuse("target %lld is not among %lld classes",
           static_cast<long long>(value),
           static_cast<long long>(shape.classes));
    return -1;
  }
  C weightOf(int64_t c) const { return weight == nullptr ? C(1) : weight[c]; }
  int64_t offset(int64_t i, int64_t c) const {
    return (i / shape.pixels * shape.classes + c) * shape.pixels +
           i % shape.pixels;
  }
};

constexpr int64_t kBlocks = 64;

// The sums of the losses and of the weights, over fixed blocks.
template <typename T, typename C>
Pair<double> sumLosses(const Targets<C>& targets, const T* input) {
  const int64_t count = targets.shape.targets();
  Pair<double> partial[kBlocks];
  parallelFor(kBlocks, grainFor(count / kBlocks + 1, 8),
              [&](int64_t begin, int64_t end) {
                for (int64_t b = begin; b < end; ++b) {
                  partial[b] = {0, 0};
                  const int64_t last = count * (b + 1) / kBlocks;
                  for (int64_t i = count * b / kBlocks; i < last; ++i) {
                    const int64_t c = targets.classOf(i);
                    if (c < 0) continue;
                    const double weight = double(targets.weightOf(c));
                    partial[b].second += weight;
                    if (input == nullptr) continue;
                    const C x = static_cast<C>(input[targets.offset(i, c)]);
                    partial[b].first -= weight * double(x);
                  }
                }
              });
  Pair<double> total{0, 0};
  for (const Pair<double>& part : partial) {
    total.first += part.first;
    total.second += part.second;
  }
  return total;
}

template <typename T>
void forward(const Targets<ComputeType<T>>& targets, Reduction reduction,
             const T* input, T* out, T* total_weight) {
  using C = ComputeType<T>;
  if (reduction == Reduction::kNone) {
    const int64_t count = targets.shape.targets();
    parallelFor(count, grainFor(1, 8), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t c = targets.classOf(i);
        const C loss = c < 0 ? C(0)
                             : -targets.weightOf(c) *
                                   static_cast<C>(input[targets.offset(i, c)]);
        out[i] = static_cast<T>(loss);
      }
    });
    if (total_weight != nullptr) *total_weight = static_cast<T>(C(0));
    return;
  }
  const Pair<double> sums = sumLosses(targets, input);
  const double loss =
      reduction == Reduction::kMean ? sums.first / sums.second : sums.first;
  *out = static_cast<T>(static_cast<C>(loss));
  if (total_weight != nullptr) {
    *total_weight = static_cast<T>(static_cast<C>(sums.second));
  }
}

template <typename T>
void backward(const Targets<ComputeType<T>>& targets, Reduction reduction,
              const T* grad_output, const T* total_weight, T* grad_input) {
  using C = ComputeType<T>;
  const Shape& shape = targets.shape;
  C divisor = 1;
  if (reduction == Reduction::kMean) {
    divisor =
        total_weight != nullptr
            ? static_cast<C>(*total_weight)
            : static_cast<C>(
                  sumLosses<T>(targets, static_cast<const T*>(nullptr)).second);
  }
  const int64_t plane = shape.classes * shape.pixels;
  parallelFor(shape.samples, grainFor(plane), [&](int64_t begin, int64_t end) {
    std::fill(grad_input + begin * plane, grad_input + end * plane,
              static_cast<T>(C(0)));
    for (int64_t i = begin * shape.pixels; i < end * shape.pixels; ++i) {
      const int64_t c = targets.classOf(i);
      if (c < 0) continue;
      const C g =
          static_cast<C>(grad_output[reduction == Reduction::kNone ? i : 0]);
      grad_input[targets.offset(i, c)] =
          static_cast<T>(-targets.weightOf(c) * g / divisor);
    }
  });
}

Status check(const NllArguments& a) {
  if (a.input.ndim < 1) {
    return fail(Status::kInvalid, "nll_loss: the input has no classes");
  }
  const Shape shape = shapeOf(a.input);
  if (a.target.numel != shape.targets()) {
    return fail(Status::kInvalid, "nll_loss: %ld targets for %ld predictions",
                long(a.target.numel), long(shape.targets()));
  }
  if (a.target.dtype != DType::kInt64 && a.target.dtype != DType::kUInt8) {
    return fail(Status::kInvalid, "nll_loss: targets of dtype %s, not int64",
                dtypeName(a.target.dtype));
  }
  if (a.weight.defined() && a.weight.numel != shape.classes) {
    return fail(Status::kInvalid, "nll_loss: %ld weights for %ld classes",
                long(a.weight.numel), long(shape.classes));
  }
  return Status::kOk;
}

}  // namespace

Status nllLoss(const Queue& queue, const TensorView& out,
               const TensorView& total_weight, const NllArguments& a) {
  const Status status = check(a);
  if (status != Status::kOk) return status;
  constexpr Order kOrder = Order::kRowMajor;
  DenseTensor x(queue, a.input, kOrder);
  DenseTensor t(queue, a.target, kOrder, DType::kInt64);
  DenseTensor w(queue, a.weight, kOrder, computeDType(a.input.dtype));
  DenseTensor y(queue, out, kOrder, a.input.dtype);
  DenseTensor total(queue, total_weight, kOrder, a.input.dtype);
  if (!x.load() || !t.load() || !w.load() || !y.open() || !total.open()) {
    return Status::kFailed;
  }
  const Status sent = launchFloating(
      queue, "nll_loss", a.input.dtype,
      [shape = shapeOf(a.input), x = x.address(), t = t.address(),
       w = w.address(), y = y.address(), total = total.address(),
       ignore = a.ignore_index, reduction = a.reduction](auto tag) {
        using T = typename decltype(tag)::type;
        using C = ComputeType<T>;
        const Targets<C> targets{shape, static_cast<const int64_t*>(t),
                                 static_cast<const C*>(w), ignore};
        forward<T>(targets, reduction, static_cast<const T*>(x),
                   static_cast<T*>(y), static_cast<T*>(total));
      });
  if (sent != Status::kOk) return sent;
  return storeAll({&y, &total});
}

Status nllLossBackward(const Queue& queue, const TensorView& grad_input,
                       const TensorView& grad_output,
                       const TensorView& total_weight, const NllArguments& a) {
  const Status status = check(a);
  if (status != Status::kOk || grad_input.numel == 0) return status;
  constexpr Order kOrder = Order::kRowMajor;
  DenseTensor g(queue, grad_output, kOrder, a.input.dtype);
  DenseTensor t(queue, a.target, kOrder, DType::kInt64);
  DenseTensor w(queue, a.weight, kOrder, computeDType(a.input.dtype));
  DenseTensor total(queue, total_weight, kOrder, a.input.dtype);
  DenseTensor dx(queue, grad_input, kOrder, a.input.dtype);
  if (!g.load() || !t.load() || !w.load() || !total.load() || !dx.open()) {
    return Status::kFailed;
  }
  const Status sent = launchFloating(
      queue, "nll_loss_backward", a.input.dtype,
      [shape = shapeOf(a.input), g = g.address(), t = t.address(),
       w = w.address(), total = total.address(), dx = dx.address(),
       ignore = a.ignore_index, reduction = a.reduction](auto tag) {
        using T = typename decltype(tag)::type;
        using C = ComputeType<T>;
        const Targets<C> targets{shape, static_cast<const int64_t*>(t),
                                 static_cast<const C*>(w), ignore};
        backward<T>(targets, reduction, static_cast<const T*>(g),
                    static_cast<const T*>(total), static_cast<T*>(dx));
      });
  return sent == Status::kOk ? dx.store() : sent;
}

}  // namespace dipu::kernels
