// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/index_check.h"
#include "kernels/compute/loss/margin_loss.h"
#include "kernels/compute/loss/samples.h"

namespace dipu::kernels {
namespace {

// One sample: its scores and its row of targets.
template <typename T>
struct Sample {
  using C = ComputeType<T>;

  const T* x;
  const int64_t* targets;
  int64_t classes;

  // How many of `targets` count; a class that does not exist ends the list.
  int64_t count() const {
    int64_t n = 0;
    while (n < classes && targets[n] >= 0) {
      if (targets[n] >= classes) {
        reportIndex(targets[n], classes);
        break;
      }
      ++n;
    }
    return n;
  }

  void mark(T* is_target) const {
    std::fill(is_target, is_target + classes, static_cast<T>(C(0)));
    const int64_t n = count();
    for (int64_t k = 0; k < n; ++k) {
      is_target[targets[k]] = static_cast<T>(C(1));
    }
  }

  // Calls body(t, c, excess) for the pairs that violate the margin.
  template <typename Body>
  void forEachViolation(const T* is_target, const Body& body) const {
    const int64_t n = count();
    for (int64_t k = 0; k < n; ++k) {
      const int64_t t = targets[k];
      const C least = C(1) - static_cast<C>(x[t]);
      for (int64_t c = 0; c < classes; ++c) {
        if (static_cast<C>(is_target[c]) != C(0)) continue;
        const C excess = least + static_cast<C>(x[c]);
        if (excess > C(0)) body(t, c, excess);
      }
    }
  }
};

// Plain values, for the worker.
struct Problem {
  SampleShape shape;
  const void* input;
  const int64_t* target;
  Reduction reduction;

  template <typename T>
  Sample<T> sample(int64_t i) const {
    return {static_cast<const T*>(input) + i * shape.classes,
            target + i * shape.classes, shape.classes};
  }
};

template <typename T>
void forward(const Problem& problem, T* out, T* is_target) {
  const int64_t classes = problem.shape.classes;
  reduceSamples(problem.shape.samples, 4 * classes, problem.reduction, out,
                [&](int64_t i) {
                  const Sample<T> sample = problem.sample<T>(i);
                  T* marks = is_target + i * classes;
                  sample.mark(marks);
                  double sum = 0;
                  sample.forEachViolation(
                      marks, [&sum](int64_t, int64_t, ComputeType<T> excess) {
                        sum += static_cast<double>(excess);
                      });
                  return sum / static_cast<double>(classes);
                });
}

// `scratch` holds gradients in the compute type.
template <typename T>
void backward(const Problem& problem, const T* grad_output, const T* is_target,
              T* grad_input, ComputeType<T>* scratch) {
  using C = ComputeType<T>;
  const auto [samples, width] = problem.shape;
  const int64_t classes = width;
  const int64_t count = samples;
  parallelFor(count, grainFor(4 * classes), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      C* grads = scratch + i * classes;
      std::fill(grads, grads + classes, C(0));
      const C factor =
          sampleGradient(grad_output, i, count, problem.reduction) /
          static_cast<C>(classes);
      problem.sample<T>(i).forEachViolation(is_target + i * classes,
                                            [&](int64_t t, int64_t c, C) {
                                              grads[t] -= factor;
                                              grads[c] += factor;
                                            });
      for (int64_t c = 0; c < classes; ++c) {
        grad_input[i * classes + c] = static_cast<T>(grads[c]);
      }
    }
  });
}

Status check(const MultiLabelMarginArguments& a) {
  if (a.input.ndim > 2 || (a.input.ndim > 0 && a.input.numel == 0 &&
                           sampleShape(a.input).classes == 0)) {
    return fail(Status::kInvalid,
                "multilabel_margin_loss: expected scores of the shape [C] or "
                "[N, C] with classes");
  }
  if (a.target.numel != a.input.numel || a.target.dtype != DType::kInt64) {
    return fail(Status::kInvalid,
                "multilabel_margin_loss: expected int64 targets of the shape "
                "of the scores");
  }
  return Status::kOk;
}

}  // namespace

Status multiLabelMarginLoss(const Queue& queue, const TensorView& out,
                            const TensorView& is_target,
                            const MultiLabelMarginArguments& a) {
  const Status status = check(a);
  if (status != Status::kOk) return status;
  DenseTensor x(queue, a.input, Order::kRowMajor);
  DenseTensor t(queue, a.target, Order::kRowMajor);
  DenseTensor y(queue, out, Order::kRowMajor, a.input.dtype);
  DenseTensor marks(queue, is_target, Order::kRowMajor, a.input.dtype);
  if (!x.load() || !t.load() || !y.open() || !marks.open()) {
    return Status::kFailed;
  }
  const Problem problem{sampleShape(a.input), x.address(), t.address<int64_t>(),
                        a.reduction};
  const Status sent = launchFloating(
      queue, "multilabel_margin_loss", a.input.dtype,
      [problem, y = y.address(), marks = marks.address()](auto tag) {
        using T = typename decltype(tag)::type;
        forward(problem, static_cast<T*>(y), static_cast<T*>(marks));
      });
  return sent == Status::kOk ? storeAll({&y, &marks}) : sent;
}

Status multiLabelMarginLossBackward(const Queue& queue,
                                    const TensorView& grad_input,
                                    const TensorView& grad_output,
                                    const TensorView& is_target,
                                    const MultiLabelMarginArguments& a) {
  const Status status = check(a);
  if (status != Status::kOk || grad_input.numel == 0) return status;
  DenseTensor x(queue, a.input, Order::kRowMajor);
  DenseTensor t(queue, a.target, Order::kRowMajor);
  DenseTensor g(queue, grad_output, Order::kRowMajor, a.input.dtype);
  DenseTensor marks(queue, is_target, Order::kRowMajor, a.input.dtype);
  DenseTensor dx(queue, grad_input, Order::kRowMajor, a.input.dtype);
  ScratchTensor sums(queue, a.input, computeDType(a.input.dtype));
  if (!x.load() || !t.load() || !g.load() || !marks.load() || !dx.open() ||
      !sums.valid()) {
    return Status::kFailed;
  }
  const Problem problem{sampleShape(a.input), x.address(), t.address<int64_t>(),
                        a.reduction};
  const Status sent = launchFloating(
      queue, "multilabel_margin_loss_backward", a.input.dtype,
      [problem, g = g.address(), marks = marks.address(), dx = dx.address(),
       sums = sums.address()](auto tag) {
        using T = typename decltype(tag)::type;
        backward(problem, static_cast<const T*>(g),
                 static_cast<const T*>(marks), static_cast<T*>(dx),
                 static_cast<ComputeType<T>*>(sums));
      });
  return sent == Status::kOk ? dx.store() : sent;
}

}  // namespace dipu::kernels
