// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/normalization/batch_norm.h"

#include <cmath>

#include "kernels/compute/normalization/channel_layout.h"
#include "kernels/compute/normalization/channels.h"
#include "kernels/compute/operands.h"

namespace dipu::kernels {
namespace {

template <typename T>
struct Forward {
  using C = ComputeType<T>;
  ChannelLayout layout;
  T* out;  // nullptr: statistics only
  const T* input;
  const C* weight;
  const C* bias;
  C* running_mean;
  C* running_var;
  C* save_mean;
  C* save_invstd;
  double* sums;  // scratch of sumInterleaved
  C* factors;    // per channel: mean, then scale, then shift
  bool training;
  bool variance;  // save_invstd receives the variance
  double momentum;
  double eps;

  C load(int64_t i) const { return static_cast<C>(input[i]); }

  Pair<C> value(int64_t i) const { return {load(i), C(0)}; }
  Pair<C> deviation(int64_t i, C mean) const {
    const C d = load(i) - mean;
    return {d, d * d};
  }
  void normalize(int64_t i, C mean, C scale, C shift) const {
    out[i] = static_cast<T>((load(i) - mean) * scale + shift);
  }

  // Mean and variance from the sums around a rounded mean: what is left of the
  // first sum corrects the rounding.
  Pair<double> momentsOf(C rounded_mean, const Pair<double>& around) const {
    const double count = double(layout.perChannel());
    const double rest = around.first / count;
    return {double(rounded_mean) + rest,
            (around.second - rest * around.first) / count};
  }

  void moveRunning(int64_t c, const Pair<double>& moments) const {
    const double count = double(layout.perChannel());
    const double unbiased = count > 1 ? count / (count - 1) : INFINITY;
    const auto move = [this](C* running, double value) {
      *running =
          static_cast<C>((1 - momentum) * double(*running) + momentum * value);
    };
    if (running_mean != nullptr) move(running_mean + c, moments.first);
    if (running_var != nullptr)
      move(running_var + c, moments.second * unbiased);
  }

  // Writes what a channel is normalized by to `factors`; in training, saves it
  // and moves the running statistics.
  void setFactors(int64_t c, const Pair<double>& moments) const {
    const int64_t channels = layout.channels;
    const double invstd = 1.0 / std::sqrt(moments.second + eps);
    if (training) {
      moveRunning(c, moments);
      if (save_mean != nullptr) save_mean[c] = static_cast<C>(moments.first);
      if (save_invstd != nullptr) {
        save_invstd[c] = static_cast<C>(variance ? moments.second : invstd);
      }
    }
    factors[c] = static_cast<C>(moments.first);
    factors[channels + c] =
        static_cast<C>(weight == nullptr ? invstd : invstd * double(weight[c]));
    factors[2 * channels + c] = bias == nullptr ? C(0) : bias[c];
  }

  Pair<double> runningMoments(int64_t c) const {
    return {double(running_mean[c]), double(running_var[c])};
  }

  void planarChannel(int64_t c) const {
    Pair<double> moments;
    if (training) {
      const Pair<double> sum = sumChannel<C>(
          layout, c, [this](int64_t i, int64_t) { return value(i); });
      const C mean = static_cast<C>(sum.first / double(layout.perChannel()));
      moments = momentsOf(
          mean, sumChannel<C>(layout, c, [this, mean](int64_t i, int64_t) {
            return deviation(i, mean);
          }));
    } else {
      moments = runningMoments(c);
    }
    setFactors(c, moments);
    if (out == nullptr) return;
    const C mean = factors[c];
    const C scale = factors[layout.channels + c];
    const C shift = factors[2 * layout.channels + c];
    mapChannel(layout, c, [this, mean, scale, shift](int64_t i, int64_t) {
      normalize(i, mean, scale, shift);
    });
  }

  void interleavedStatistics() const {
    const int64_t channels = layout.channels;
    sumInterleaved<C>(
        layout, [this](int64_t i, int64_t) { return value(i); }, sums);
    for (int64_t c = 0; c < channels; ++c) {
      factors[c] = static_cast<C>(sums[c] / double(layout.perChannel()));
    }
    const C* mean = factors;
    sumInterleaved<C>(
        layout,
        [this, mean](int64_t i, int64_t c) { return deviation(i, mean[c]); },
        sums);
  }

  void interleaved() const {
    const int64_t channels = layout.channels;
    if (training) interleavedStatistics();
    for (int64_t c = 0; c < channels; ++c) {
      setFactors(c, training
                        ? momentsOf(factors[c], {sums[c], sums[channels + c]})
                        : runningMoments(c));
    }
    if (out == nullptr) return;
    const C* mean = factors;
    const C* scale = factors + channels;
    const C* shift = scale + channels;
    mapInterleaved(layout, [this, mean, scale, shift](int64_t i, int64_t c) {
      normalize(i, mean[c], scale[c], shift[c]);
    });
  }

  void run() const {
    if (layout.interleaved) {
      interleaved();
    } else {
      forEachChannel(layout, [this](int64_t c) { planarChannel(c); });
    }
  }
};

Status check(const BatchNormArguments& a) {
  if (a.input.ndim < 2 || (a.out.defined() && !sameShape(a.out, a.input))) {
    return fail(Status::kInvalid,
                "batch_norm: out and input differ, or have %d dimensions",
                a.input.ndim);
  }
  const int64_t channels = a.input.sizes[1];
  for (const TensorView* v :
       {&a.weight, &a.bias, &a.running_mean, &a.running_var}) {
    if (v->defined() && v->numel != channels) {
      return fail(Status::kInvalid,
                  "batch_norm: %ld channels, a parameter with %ld elements",
                  long(channels), long(v->numel));
    }
  }
  if (!a.training && !(a.running_mean.defined() && a.running_var.defined())) {
    return fail(Status::kInvalid,
                "batch_norm: evaluation needs running statistics");
  }
  return Status::kOk;
}

// `variance` tells what save_invstd receives.
Status normalizeBatch(const Queue& queue, const BatchNormArguments& a,
                      bool variance) {
  const Status status = check(a);
  if (status != Status::kOk || a.input.numel == 0) return status;
  const DType compute = computeDType(a.input.dtype);
  constexpr Order kRow = Order::kRowMajor;
  const Order order = orderOf(a.input);
  DenseTensor x(queue, a.input, order);
  DenseTensor y(queue, a.out, order);
  DenseTensor w(queue, a.weight, kRow, compute);
  DenseTensor b(queue, a.bias, kRow, compute);
  DenseTensor rm(queue, a.running_mean, kRow, compute);
  DenseTensor rv(queue, a.running_var, kRow, compute);
  const bool saves = a.training && a.save_mean.defined();
  DenseTensor sm(queue, saves ? a.save_mean : TensorView(), kRow, compute);
  DenseTensor si(queue, saves ? a.save_invstd : TensorView(), kRow, compute);
  if (!x.load() || !w.load() || !b.load() || !rm.load() || !rv.load() ||
      !y.open() || !sm.open() || !si.open()) {
    return Status::kFailed;
  }
  const ChannelLayout layout = channelLayout(a.input, order);
  ChannelScratch scratch(queue, layout, compute);
  if (!scratch.valid()) return Status::kFailed;
  const Status sent = launchFloating(
      queue, "batch_norm", a.input.dtype,
      [layout, x = x.address(), y = y.address(), w = w.address(),
       b = b.address(), rm = rm.address(), rv = rv.address(), sm = sm.address(),
       si = si.address(), sums = scratch.sums(), factors = scratch.factors(),
       training = a.training, variance, momentum = a.momentum,
       eps = a.eps](auto tag) {
        using T = typename decltype(tag)::type;
        using C = ComputeType<T>;
        Forward<T>{layout,
                   static_cast<T*>(y),
                   static_cast<const T*>(x),
                   static_cast<const C*>(w),
                   static_cast<const C*>(b),
                   static_cast<C*>(rm),
                   static_cast<C*>(rv),
                   static_cast<C*>(sm),
                   static_cast<C*>(si),
                   sums,
                   static_cast<C*>(factors),
                   training,
                   variance,
                   momentum,
                   eps}
            .run();
      });
  if (sent != Status::kOk) return sent;
  if (!a.training) return y.store();
  return storeAll({&y, &rm, &rv, &sm, &si});
}

}  // namespace

Status batchNorm(const Queue& queue, const BatchNormArguments& a) {
  if (!a.out.defined()) {
    return fail(Status::kInvalid, "batch_norm: there is no out");
  }
  return normalizeBatch(queue, a, /*variance=*/false);
}

Status batchNormStats(const Queue& queue, const BatchNormStatsArguments& a) {
  BatchNormArguments all{};
  all.save_mean = a.mean;
  all.save_invstd = a.spread;
  all.input = a.input;
  all.running_mean = a.running_mean;
  all.running_var = a.running_var;
  all.training = true;
  all.momentum = a.momentum;
  all.eps = a.eps;
  return normalizeBatch(queue, all, a.variance);
}

}  // namespace dipu::kernels
