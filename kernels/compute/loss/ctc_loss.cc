// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/loss/ctc_loss.h"

#include <cmath>

#include "kernels/compute/loss/ctc_sample.h"
#include "kernels/compute/loss/samples.h"

namespace dipu::kernels {
namespace {

using ctc::kNever;
using ctc::logSum;
using ctc::Problem;
using ctc::Sample;

// Fills the sample's table of alphas, [steps, states of the table], and returns
// the loss.
template <typename T>
T forwardSample(const Sample<T>& sample, int64_t table_steps, int64_t width,
                T* alpha) {
  std::fill(alpha, alpha + table_steps * width, kNever<T>);
  const int64_t states = sample.states();
  const int64_t steps = sample.steps();
  if (steps == 0) return states == 1 ? T(0) : -kNever<T>;
  for (int64_t s = 0; s < std::min<int64_t>(2, states); ++s) {
    alpha[s] = sample.probability(0, s);
  }
  for (int64_t t = 1; t < steps; ++t) {
    const T* before = alpha + (t - 1) * width;
    T* now = alpha + t * width;
    for (int64_t s = 0; s < states; ++s) {
      const T one = s >= 1 ? before[s - 1] : kNever<T>;
      const T two = sample.skips(s) ? before[s - 2] : kNever<T>;
      now[s] = logSum(before[s], one, two) + sample.probability(t, s);
    }
  }
  const T* last = alpha + (steps - 1) * width;
  const T label = states > 1 ? last[states - 2] : kNever<T>;
  return -logSum(last[states - 1], label, kNever<T>);
}

template <typename T>
void forward(const Problem& p, T* losses, T* alphas) {
  const int64_t table = p.steps * p.states;
  parallelFor(p.samples, grainFor(table, 16), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const Sample<T> sample(p, i);
      losses[i] = sample.valid() ? forwardSample(sample, p.steps, p.states,
                                                 alphas + i * table)
                                 : T(0);
    }
  });
}

// Betas of one time step from those of the next one, in place: `beta` has two
// elements more than there are states.
template <typename T>
void stepBack(const Sample<T>& sample, int64_t step, T* beta) {
  const int64_t states = sample.states();
  for (int64_t s = 0; s < states; ++s) {
    const bool skips = s + 2 < states && sample.skips(s + 2);
    beta[s] = logSum(beta[s], beta[s + 1], skips ? beta[s + 2] : kNever<T>) +
              sample.probability(step, s);
  }
}

// Where the parts of one sample's gradient lie.
template <typename T>
struct GradientRow {
  T* grad;        // of its first class in the first step
  int64_t pitch;  // between two steps
  const T* alpha;
  T* beta;  // p.states + 2 elements
  T* sums;  // p.classes elements
};

// grad = (exp(log_probs) - share of the alignments through the class) * factor.
template <typename T>
void backwardSample(const Problem& p, const Sample<T>& sample, int64_t i,
                    T loss, T factor, const GradientRow<T>& row) {
  const int64_t states = sample.states();
  std::fill(row.beta, row.beta + p.states + 2, kNever<T>);
  for (int64_t t = sample.steps() - 1; t >= 0; --t) {
    if (t == sample.steps() - 1) {
      for (int64_t s = std::max<int64_t>(0, states - 2); s < states; ++s) {
        row.beta[s] = sample.probability(t, s);
      }
    } else {
      stepBack(sample, t, row.beta);
    }
    std::fill(row.sums, row.sums + p.classes, kNever<T>);
    for (int64_t s = 0; s < states; ++s) {
      T& sum = row.sums[sample.classOf(s)];
      sum = logSum(sum, row.alpha[t * p.states + s] + row.beta[s], kNever<T>);
    }
    const T* x =
        static_cast<const T*>(p.log_probs) + (t * p.samples + i) * p.classes;
    T* out = row.grad + t * row.pitch;
    for (int64_t c = 0; c < p.classes; ++c) {
      out[c] = (std::exp(x[c]) - std::exp(row.sums[c] + loss - x[c])) * factor;
    }
  }
}

template <typename T>
struct BackwardTask {
  Problem problem;
  const T* losses;
  const T* alphas;
  const T* grad_output;
  T* grad_input;
  T* scratch;  // per sample problem.states + 2 + problem.classes elements
  Reduction reduction;
  bool zero_infinity;

  // The gradient of the loss of sample i.
  T factorOf(int64_t i) const {
    const T grad = sampleGradient(grad_output, i, problem.samples, reduction);
    if (reduction != Reduction::kMean) return grad;
    const int64_t length = problem.target_lengths.at(i);
    return grad / static_cast<T>(std::max<int64_t>(1, length));
  }

  void run(int64_t i) const {
    const Problem& p = problem;
    const int64_t pitch = p.samples * p.classes;
    T* grad = grad_input + i * p.classes;
    for (int64_t t = 0; t < p.steps; ++t) {
      std::fill(grad + t * pitch, grad + t * pitch + p.classes, T(0));
    }
    const Sample<T> sample(p, i);
    const bool infinite = losses[i] == -kNever<T>;
    if (!sample.valid() || (zero_infinity && infinite)) return;
    T* beta = scratch + i * (p.states + 2 + p.classes);
    backwardSample(p, sample, i, losses[i], factorOf(i),
                   GradientRow<T>{grad, pitch, alphas + i * p.steps * p.states,
                                  beta, beta + p.states + 2});
  }

  void operator()() const {
    parallelFor(problem.samples, grainFor(problem.steps * problem.states, 32),
                [this](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) run(i);
                });
  }
};

Status check(const TensorView& log_alpha, const CtcArguments& a) {
  if (a.log_probs.ndim != 3 || log_alpha.ndim != 3) {
    return fail(Status::kInvalid,
                "ctc_loss: log probabilities have %d dimensions, not time, "
                "batch and class",
                a.log_probs.ndim);
  }
  for (const TensorView* list :
       {&a.targets, &a.input_lengths, &a.target_lengths}) {
    if (!isIndexType(list->dtype)) {
      return unsupportedDType("ctc_loss", list->dtype);
    }
  }
  const int64_t samples = a.log_probs.sizes[1];
  if (a.input_lengths.numel != samples || a.target_lengths.numel != samples ||
      (a.targets.ndim == 2 && a.targets.sizes[0] != samples)) {
    return fail(Status::kInvalid,
                "ctc_loss: expected lengths and targets of %ld samples",
                long(samples));
  }
  if (a.blank < 0 || a.blank >= a.log_probs.sizes[2]) {
    return fail(Status::kInvalid, "ctc_loss: blank must be in label range");
  }
  return Status::kOk;
}

// The integer operands in memory that the worker reads.
struct Lists {
  DenseTensor targets;
  DenseTensor input_lengths;
  DenseTensor target_lengths;

  Lists(const Queue& queue, const CtcArguments& a)
      : targets(queue, a.targets, Order::kRowMajor),
        input_lengths(queue, a.input_lengths, Order::kRowMajor),
        target_lengths(queue, a.target_lengths, Order::kRowMajor) {}

  bool load() {
    return targets.load() && input_lengths.load() && target_lengths.load();
  }
};

IndexReader readerOf(const DenseTensor& list) {
  return {list.address<char>(), list.view().dtype == DType::kInt64};
}

Problem problemOf(const CtcArguments& a, const TensorView& log_alpha,
                  const DenseTensor& x, const Lists& lists) {
  Problem p;
  p.log_probs = x.address();
  p.targets = readerOf(lists.targets);
  p.input_lengths = readerOf(lists.input_lengths);
  p.target_lengths = readerOf(lists.target_lengths);
  p.steps = a.log_probs.sizes[0];
  p.samples = a.log_probs.sizes[1];
  p.classes = a.log_probs.sizes[2];
  p.states = log_alpha.sizes[2];
  p.padded = a.targets.ndim == 2 ? a.targets.sizes[1] : 0;
  p.blank = a.blank;
  return p;
}

}  // namespace

Status ctcLoss(const Queue& queue, const TensorView& negative_log,
               const TensorView& log_alpha, const CtcArguments& a) {
  const Status status = check(log_alpha, a);
  if (status != Status::kOk || negative_log.numel == 0) return status;
  const DType dtype = a.log_probs.dtype;
  DenseTensor x(queue, a.log_probs, Order::kRowMajor);
  Lists lists(queue, a);
  DenseTensor losses(queue, negative_log, Order::kRowMajor, dtype);
  DenseTensor alphas(queue, log_alpha, Order::kRowMajor, dtype);
  if (!x.load() || !lists.load() || !losses.open() || !alphas.open()) {
    return Status::kFailed;
  }
  bool sent = false;
  const bool known = dispatchAmong<float, double>(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    sent = queue.launch(
        [p = problemOf(a, log_alpha, x, lists), losses = losses.address<T>(),
         alphas = alphas.address<T>()] { forward(p, losses, alphas); });
  });
  if (!known) return unsupportedDType("ctc_loss", dtype);
  return sent ? storeAll({&losses, &alphas}) : Status::kFailed;
}

Status ctcLossBackward(const Queue& queue, const TensorView& grad_input,
                       const TensorView& grad_output,
                       const TensorView& negative_log,
                       const TensorView& log_alpha, const CtcArguments& a,
                       Reduction reduction, bool zero_infinity) {
  const Status status = check(log_alpha, a);
  if (status != Status::kOk || grad_input.numel == 0) return status;
  const DType dtype = a.log_probs.dtype;
  DenseTensor x(queue, a.log_probs, Order::kRowMajor);
  Lists lists(queue, a);
  DenseTensor losses(queue, negative_log, Order::kRowMajor, dtype);
  DenseTensor alphas(queue, log_alpha, Order::kRowMajor, dtype);
  DenseTensor g(queue, grad_output, Order::kRowMajor, dtype);
  DenseTensor dx(queue, grad_input, Order::kRowMajor, dtype);
  if (!x.load() || !lists.load() || !losses.load() || !alphas.load() ||
      !g.load() || !dx.open()) {
    return Status::kFailed;
  }
  const Problem p = problemOf(a, log_alpha, x, lists);
  const int64_t scratch = p.samples * (p.states + 2 + p.classes);
  bool sent = false;
  const bool known = dispatchAmong<float, double>(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    auto* rows = static_cast<T*>(
        scratchAddress(queue, scratch * static_cast<int64_t>(sizeof(T))));
    sent = rows != nullptr &&
           queue.launch(BackwardTask<T>{
               p, losses.address<T>(), alphas.address<T>(), g.address<T>(),
               dx.address<T>(), rows, reduction, zero_infinity});
  });
  if (!known) return unsupportedDType("ctc_loss_backward", dtype);
  return sent ? dx.store() : Status::kFailed;
}

Status ctcReduce(const Queue& queue, const TensorView& out,
                 const TensorView& negative_log,
                 const TensorView& target_lengths, Reduction reduction,
                 bool zero_infinity) {
  if (!isIndexType(target_lengths.dtype) ||
      target_lengths.numel != negative_log.numel) {
    return fail(Status::kInvalid, "ctc_loss: expected a target length a loss");
  }
  DenseTensor x(queue, negative_log, Order::kRowMajor);
  DenseTensor lengths(queue, target_lengths, Order::kRowMajor);
  DenseTensor y(queue, out, Order::kRowMajor, negative_log.dtype);
  if (!x.load() || !lengths.load() || !y.open()) return Status::kFailed;
  const Status sent = launchFloating(
      queue, "ctc_loss", negative_log.dtype,
      [x = x.address(), reader = readerOf(lengths), y = y.address(),
       count = negative_log.numel, reduction, zero_infinity](auto tag) {
        using T = typename decltype(tag)::type;
        reduceSamples(count, 1, reduction, static_cast<T*>(y), [&](int64_t i) {
          const auto loss = static_cast<double>(
              static_cast<ComputeType<T>>(static_cast<const T*>(x)[i]));
          if (zero_infinity && std::isinf(loss)) return 0.0;
          if (reduction != Reduction::kMean) return loss;
          const int64_t length = std::max<int64_t>(1, reader.at(i));
          return loss / static_cast<double>(length);
        });
      });
  return sent == Status::kOk ? y.store() : sent;
}

}  // namespace dipu::kernels
