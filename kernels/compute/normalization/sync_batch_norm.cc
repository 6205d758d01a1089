// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/normalization/sync_batch_norm.h"

#include <cmath>

#include "kernels/compute/binary.h"
#include "kernels/compute/compute_dispatch.h"
#include "kernels/compute/operands.h"
#include "kernels/compute/reduce.h"
#include "kernels/compute/shaped_view.h"

namespace dipu::kernels {
namespace {

// Entries of channels, repeated over the other dimensions of the input.
struct Channels : ShapedView {
  Channels(const TensorView& entries, const TensorView& input)
      : ShapedView(entries) {
    for (int32_t d = 0; d < input.ndim; ++d) {
      const bool own = d == 1 && entries.defined();
      append(d == 1 ? input.sizes[1] : 1, own ? entries.strides[0] : 0);
    }
  }
};

// out, x, mean, invstd, weight, bias.
template <typename C>
struct Normalize {
  bool has_weight;
  bool has_bias;

  static void run(const void* state, void* const* p, int64_t count) {
    const auto self = *static_cast<const Normalize*>(state);
    C* out = static_cast<C*>(p[0]);
    const C* x = static_cast<const C*>(p[1]);
    const C* mean = static_cast<const C*>(p[2]);
    const C* invstd = static_cast<const C*>(p[3]);
    const C* weight = static_cast<const C*>(p[4]);
    const C* bias = static_cast<const C*>(p[5]);
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) {
      const C scale = self.has_weight ? weight[i] : C(1);
      const C shift = self.has_bias ? bias[i] : C(0);
      out[i] = (x[i] - mean[i]) * invstd[i] * scale + shift;
    }
  }
};

// out, grad, x, mean, slope, scale.
template <typename C>
struct Differentiate {
  static void run(const void*, void* const* p, int64_t count) {
    C* out = static_cast<C*>(p[0]);
    const C* g = static_cast<const C*>(p[1]);
    const C* x = static_cast<const C*>(p[2]);
    const C* mean = static_cast<const C*>(p[3]);
    const C* slope = static_cast<const C*>(p[4]);
    const C* scale = static_cast<const C*>(p[5]);
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) {
      out[i] = (g[i] - (x[i] - mean[i]) * slope[i]) * scale[i];
    }
  }
};

template <typename C>
constexpr Kernel makeSixfold(DenseLoop loop) {
  Kernel kernel;
  kernel.loop = loop;
  kernel.operands = 6;
  kernel.cost = 3;
  for (DType& type : kernel.types) type = kDTypeOf<C>;
  return kernel;
}

// Whether an optional tensor has one entry for each channel.
bool perChannel(const TensorView& entries, int64_t channels) {
  return !entries.defined() || (entries.ndim == 1 && entries.numel == channels);
}

Status check(const TensorView& input,
             std::initializer_list<const TensorView*> entries) {
  if (!isFloating(input.dtype)) {
    return unsupportedDType("sync_batch_norm", input.dtype);
  }
  if (input.ndim < 2 || input.ndim > kMaxDims) {
    return fail(Status::kInvalid, "sync_batch_norm: input of %d dimensions",
                input.ndim);
  }
  for (const TensorView* entry : entries) {
    if (perChannel(*entry, input.sizes[1])) continue;
    return fail(Status::kInvalid,
                "sync_batch_norm: a statistic has %ld entries for %ld channels",
                long(entry->numel), long(input.sizes[1]));
  }
  return Status::kOk;
}

// Joins moments by the rule of Chan et al.
struct GatherTask {
  double* mean;
  double* invstd;
  double* running_mean;  // nullptr: not wanted
  double* running_var;
  const double* mean_all;
  const double* invstd_all;
  const double* counts;
  int64_t devices;
  int64_t channels;
  double momentum;
  double eps;

  void operator()() const {
    for (int64_t c = 0; c < channels; ++c) join(c);
  }

  void join(int64_t c) const {
    double count = 0;
    double average = 0;
    double squares = 0;
    for (int64_t d = 0; d < devices; ++d) {
      const double own = counts[d];
      if (!(own > 0)) continue;
      const double spread = invstd_all[d * channels + c];
      const double delta = mean_all[d * channels + c] - average;
      squares += (1 / (spread * spread) - eps) * own +
                 delta * delta * (count * own / (count + own));
      average += delta * (own / (count + own));
      count += own;
    }
    mean[c] = average;
    invstd[c] = 1 / std::sqrt(squares / count + eps);
    if (running_mean != nullptr) {
      running_mean[c] += momentum * (average - running_mean[c]);
    }
    if (running_var != nullptr) {
      running_var[c] += momentum * (squares / (count - 1) - running_var[c]);
    }
  }
};

// What the gradient of the input has per channel.
struct CoefficientTask {
  double* mean_dy;
  double* slope;
  double* scale;
  const double* sum_dy;
  const double* sum_dy_xmu;
  const double* invstd;
  const double* weight;  // may be nullptr
  const double* counts;
  int64_t devices;
  int64_t channels;

  void operator()() const {
    double total = 0;
    for (int64_t d = 0; d < devices; ++d) total += counts[d];
    for (int64_t c = 0; c < channels; ++c) {
      mean_dy[c] = sum_dy[c] / total;
      slope[c] = sum_dy_xmu[c] / total * invstd[c] * invstd[c];
      scale[c] = invstd[c] * (weight == nullptr ? 1.0 : weight[c]);
    }
  }
};

// Loads inputs as double.
struct Doubles : DenseTensor {
  Doubles(const Queue& queue, const TensorView& tensor)
      : DenseTensor(queue, tensor, Order::kRowMajor, DType::kFloat64) {}
};

Status computeCoefficients(const Queue& queue, const SyncBackwardArguments& a,
                           const ScratchTensor& mean_dy,
                           const ScratchTensor& slope,
                           const ScratchTensor& scale) {
  Doubles sum_dy(queue, a.sum_dy);
  Doubles sum_dy_xmu(queue, a.sum_dy_xmu);
  Doubles invstd(queue, a.invstd);
  Doubles weight(queue, a.weight);
  Doubles counts(queue, a.counts);
  if (!sum_dy.load() || !sum_dy_xmu.load() || !invstd.load() ||
      !weight.load() || !counts.load()) {
    return Status::kFailed;
  }
  const CoefficientTask task{mean_dy.address<double>(),
                             slope.address<double>(),
                             scale.address<double>(),
                             sum_dy.address<double>(),
                             sum_dy_xmu.address<double>(),
                             invstd.address<double>(),
                             weight.address<double>(),
                             counts.address<double>(),
                             a.counts.numel,
                             a.input.sizes[1]};
  return queue.launch(task) ? Status::kOk : Status::kFailed;
}

Status sumChannels(const Queue& queue, const TensorView& out,
                   const TensorView& input) {
  int64_t dims[kMaxDims];
  int64_t count = 0;
  for (int64_t d = 0; d < input.ndim; ++d) {
    if (d != 1) dims[count++] = d;
  }
  return sum(queue, out, input, Dims{dims, count});
}

}  // namespace

Status syncNormalize(const Queue& queue, const TensorView& out,
                     const TensorView& input, const TensorView& weight,
                     const TensorView& bias, const TensorView& mean,
                     const TensorView& invstd) {
  Status status = check(input, {&weight, &bias, &mean, &invstd});
  if (status != Status::kOk) return status;
  if (!sameShape(out, input) || !mean.defined() || !invstd.defined()) {
    return fail(Status::kInvalid,
                "sync_batch_norm: out and input differ, or statistics are "
                "missing");
  }
  const Channels m(mean, input);
  const Channels s(invstd, input);
  const Channels w(weight.defined() ? weight : mean, input);
  const Channels b(bias.defined() ? bias : mean, input);
  dispatchReal(computeDType(input.dtype), [&](auto tag) {
    using C = typename decltype(tag)::type;
    static constexpr Kernel kKernel = makeSixfold<C>(&Normalize<C>::run);
    const Normalize<C> op{weight.defined(), bias.defined()};
    status = elementwise(queue, kKernel, op,
                         {&out, &input, &m.view, &s.view, &w.view, &b.view});
  });
  return status;
}

Status gatherStats(const Queue& queue, const GatherStatsArguments& a) {
  const TensorView& all = a.mean_all;
  if (all.ndim != 2 || !sameShape(all, a.invstd_all) ||
      a.counts.numel != all.sizes[0] || a.mean.numel != all.sizes[1] ||
      a.invstd.numel != all.sizes[1] ||
      !perChannel(a.running_mean, all.sizes[1]) ||
      !perChannel(a.running_var, all.sizes[1])) {
    return fail(Status::kInvalid,
                "batch_norm_gather_stats: statistics are not [devices, "
                "channels]");
  }
  Doubles mean(queue, a.mean);
  Doubles invstd(queue, a.invstd);
  Doubles running_mean(queue, a.running_mean);
  Doubles running_var(queue, a.running_var);
  Doubles mean_all(queue, all);
  Doubles invstd_all(queue, a.invstd_all);
  Doubles counts(queue, a.counts);
  if (!mean.open() || !invstd.open() || !running_mean.load() ||
      !running_var.load() || !mean_all.load() || !invstd_all.load() ||
      !counts.load()) {
    return Status::kFailed;
  }
  const GatherTask task{mean.address<double>(),
                        invstd.address<double>(),
                        running_mean.address<double>(),
                        running_var.address<double>(),
                        mean_all.address<double>(),
                        invstd_all.address<double>(),
                        counts.address<double>(),
                        all.sizes[0],
                        all.sizes[1],
                        a.momentum,
                        a.eps};
  if (!queue.launch(task)) return Status::kFailed;
  return storeAll({&mean, &invstd, &running_mean, &running_var});
}

Status reduceGradient(const Queue& queue, const ReduceGradientArguments& a) {
  Status status = check(a.input, {&a.sum_dy, &a.sum_dy_xmu, &a.grad_weight,
                                  &a.grad_bias, &a.mean, &a.invstd});
  if (status != Status::kOk) return status;
  if (!sameShape(a.grad, a.input) || !a.mean.defined() || !a.invstd.defined()) {
    return fail(Status::kInvalid,
                "batch_norm_backward_reduce: gradient and input differ, or "
                "statistics are missing");
  }
  for (const TensorView* out : {&a.sum_dy, &a.grad_bias}) {
    if (!out->defined()) continue;
    status = sumChannels(queue, *out, a.grad);
    if (status != Status::kOk) return status;
  }
  const DType compute = computeDType(a.input.dtype);
  const ScratchTensor products(queue, a.input, compute);
  const ScratchTensor sums(queue, a.mean, compute);
  if (!products.valid() || !sums.valid()) return Status::kFailed;
  const Channels mean(a.mean, a.input);
  dispatchReal(compute, [&](auto tag) {
    using C = typename decltype(tag)::type;
    status = applyTernary<C>(
        queue, [](C g, C x, C m) { return g * (x - m); }, 2, products.view(),
        a.grad, a.input, mean.view);
  });
  if (status == Status::kOk) {
    status = sumChannels(queue, sums.view(), products.view());
  }
  if (status == Status::kOk && a.sum_dy_xmu.defined()) {
    status = convertTensor(queue, a.sum_dy_xmu, sums.view());
  }
  if (status != Status::kOk || !a.grad_weight.defined()) return status;
  return mul(queue, a.grad_weight, sums.view(), a.invstd);
}

Status syncNormalizeBackward(const Queue& queue,
                             const SyncBackwardArguments& a) {
  Status status =
      check(a.input, {&a.mean, &a.invstd, &a.weight, &a.sum_dy, &a.sum_dy_xmu});
  if (status != Status::kOk) return status;
  if (!sameShape(a.grad, a.input) || !sameShape(a.grad_input, a.input) ||
      !a.mean.defined() || !a.invstd.defined() || !a.sum_dy.defined() ||
      !a.sum_dy_xmu.defined()) {
    return fail(Status::kInvalid,
                "batch_norm_backward_elemt: gradients and input differ, or "
                "sums are missing");
  }
  const ScratchTensor mean_dy(queue, a.mean, DType::kFloat64);
  const ScratchTensor slope(queue, a.mean, DType::kFloat64);
  const ScratchTensor scale(queue, a.mean, DType::kFloat64);
  const DType compute = computeDType(a.input.dtype);
  const ScratchTensor centred(queue, a.input, compute);
  if (!mean_dy.valid() || !slope.valid() || !scale.valid() ||
      !centred.valid()) {
    return Status::kFailed;
  }
  status = computeCoefficients(queue, a, mean_dy, slope, scale);
  if (status != Status::kOk) return status;
  const Channels common(mean_dy.view(), a.input);
  const Channels mean(a.mean, a.input);
  const Channels steep(slope.view(), a.input);
  const Channels factor(scale.view(), a.input);
  status = sub(queue, centred.view(), a.grad, common.view, {true, 1, 1.0});
  if (status != Status::kOk) return status;
  dispatchReal(compute, [&](auto tag) {
    using C = typename decltype(tag)::type;
    static constexpr Kernel kKernel = makeSixfold<C>(&Differentiate<C>::run);
    status = elementwise(queue, kKernel, Differentiate<C>{},
                         {&a.grad_input, &centred.view(), &a.input, &mean.view,
                          &steep.view, &factor.view});
  });
  return status;
}

}  // namespace dipu::kernels
