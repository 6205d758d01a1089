// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/index_check.h"
#include "kernels/compute/loss/margin_loss.h"
#include "kernels/compute/loss/samples.h"

namespace dipu::kernels {
namespace {

// Plain values, for the worker.
struct Problem {
  SampleShape shape;
  const void* input;
  const int64_t* target;
  const void* weight;  // of the compute type, or nullptr
  double margin;
  bool squared;
  Reduction reduction;

  // Class of sample i, -1 after a failure.
  int64_t classOf(int64_t i) const {
    if (target[i] >= 0 && target[i] < shape.classes) return target[i];
    reportIndex(target[i], shape.classes);
    return -1;
  }
};

template <typename T>
class Samples {
 public:
  using C = ComputeType<T>;

  explicit Samples(const Problem& problem)
      : problem_(problem), margin_(static_cast<C>(problem.margin)) {}

  double loss(int64_t i) const {
    const int64_t t = problem_.classOf(i);
    if (t < 0) return 0;
    double sum = 0;
    for (int64_t c = 0; c < problem_.shape.classes; ++c) {
      const C z = c == t ? C(0) : excess(i, t, c);
      if (z > C(0)) sum += static_cast<double>(problem_.squared ? z * z : z);
    }
    return sum * static_cast<double>(weightOf(t)) /
           static_cast<double>(problem_.shape.classes);
  }

  void gradient(int64_t i, C grad, T* out) const {
    const int64_t classes = problem_.shape.classes;
    const int64_t t = problem_.classOf(i);
    if (t < 0) return;
    const C factor = grad * weightOf(t) / static_cast<C>(classes);
    C sum = 0;
    for (int64_t c = 0; c < classes; ++c) {
      const C z = c == t ? C(0) : excess(i, t, c);
      const C slope = z > C(0) ? (problem_.squared ? C(2) * z : C(1)) : C(0);
      out[c] = static_cast<T>(slope * factor);
      sum += slope * factor;
    }
    out[t] = static_cast<T>(-sum);
  }

 private:
  C excess(int64_t i, int64_t t, int64_t c) const {
    const T* x =
        static_cast<const T*>(problem_.input) + i * problem_.shape.classes;
    return margin_ - static_cast<C>(x[t]) + static_cast<C>(x[c]);
  }
  C weightOf(int64_t c) const {
    return problem_.weight == nullptr
               ? C(1)
               : static_cast<const C*>(problem_.weight)[c];
  }

  const Problem problem_;
  const C margin_;
};

Status check(const MultiMarginArguments& a) {
  const SampleShape shape = sampleShape(a.input);
  if (a.input.ndim > 2 || shape.classes == 0) {
    return fail(Status::kInvalid,
                "multi_margin_loss: expected scores of the shape [C] or [N, C] "
                "with classes");
  }
  if (a.target.numel != shape.samples || a.target.ndim > 1) {
    return fail(Status::kInvalid,
                "multi_margin_loss: %ld targets for %ld samples",
                long(a.target.numel), long(shape.samples));
  }
  if (a.target.dtype != DType::kInt64) {
    return fail(Status::kInvalid,
                "multi_margin_loss: targets of dtype %s, not int64",
                dtypeName(a.target.dtype));
  }
  if (a.weight.defined() && a.weight.numel != shape.classes) {
    return fail(Status::kInvalid,
                "multi_margin_loss: %ld weights for %ld classes",
                long(a.weight.numel), long(shape.classes));
  }
  if (a.p != 1 && a.p != 2) {
    return fail(Status::kInvalid, "multi_margin_loss: p is %ld, not 1 or 2",
                long(a.p));
  }
  return Status::kOk;
}

Problem problemOf(const MultiMarginArguments& a, const DenseTensor& x,
                  const DenseTensor& t, const DenseTensor& w) {
  return {sampleShape(a.input), x.address(), t.address<int64_t>(),
          w.address(),          a.margin,    a.p == 2,
          a.reduction};
}

}  // namespace

Status multiMarginLoss(const Queue& queue, const TensorView& out,
                       const MultiMarginArguments& a) {
  const Status status = check(a);
  if (status != Status::kOk) return status;
  DenseTensor x(queue, a.input, Order::kRowMajor);
  DenseTensor t(queue, a.target, Order::kRowMajor);
  DenseTensor w(queue, a.weight, Order::kRowMajor, computeDType(a.input.dtype));
  DenseTensor y(queue, out, Order::kRowMajor, a.input.dtype);
  if (!x.load() || !t.load() || !w.load() || !y.open()) return Status::kFailed;
  const Status sent = launchFloating(
      queue, "multi_margin_loss", a.input.dtype,
      [problem = problemOf(a, x, t, w), y = y.address()](auto tag) {
        using T = typename decltype(tag)::type;
        const Samples<T> samples(problem);
        reduceSamples(problem.shape.samples, problem.shape.classes,
                      problem.reduction, static_cast<T*>(y),
                      [&](int64_t i) { return samples.loss(i); });
      });
  return sent == Status::kOk ? y.store() : sent;
}

Status multiMarginLossBackward(const Queue& queue, const TensorView& grad_input,
                               const TensorView& grad_output,
                               const MultiMarginArguments& a) {
  const Status status = check(a);
  if (status != Status::kOk || grad_input.numel == 0) return status;
  DenseTensor x(queue, a.input, Order::kRowMajor);
  DenseTensor t(queue, a.target, Order::kRowMajor);
  DenseTensor w(queue, a.weight, Order::kRowMajor, computeDType(a.input.dtype));
  DenseTensor g(queue, grad_output, Order::kRowMajor, a.input.dtype);
  DenseTensor dx(queue, grad_input, Order::kRowMajor, a.input.dtype);
  if (!x.load() || !t.load() || !w.load() || !g.load() || !dx.open()) {
    return Status::kFailed;
  }
  const Status sent = launchFloating(
      queue, "multi_margin_loss_backward", a.input.dtype,
      [problem = problemOf(a, x, t, w), g = g.address(),
       dx = dx.address()](auto tag) {
        using T = typename decltype(tag)::type;
        const Samples<T> samples(problem);
        const auto [count, classes] = problem.shape;
        const int64_t width = classes;
        parallelFor(
            count, grainFor(width), [&, n = count](int64_t begin, int64_t end) {
              for (int64_t i = begin; i < end; ++i) {
                samples.gradient(i,
                                 sampleGradient(static_cast<const T*>(g), i, n,
                                                problem.reduction),
                                 static_cast<T*>(dx) + i * width);
              }
            });
      });
  return sent == Status::kOk ? dx.store() : sent;
}

}  // namespace dipu::kernels
