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
  T* out;
  const T* input;
  const C* weight;
  const C* bias;
  C* running_mean;
  C* running_var;
  C* save_mean;
  C* save_invstd;
  double* sums;  // scratch of sumChannels
  C* factors;    // per channel: mean, then scale, then shift
  bool training;
  double momentum;
  double eps;

  C load(int64_t i) const { return static_cast<C>(input[i]); }

  // Mean and variance of each channel to sums[c] and sums[channels + c].
  void batchStatistics() const {
    const int64_t channels = layout.channels;
    const double count = double(layout.perChannel());
    sumChannels<C>(
        layout, [this](int64_t i, int64_t) { return Pair<C>{load(i), C(0)}; },
        sums);
    C* mean = factors;
    for (int64_t c = 0; c < channels; ++c) {
      mean[c] = static_cast<C>(sums[c] / count);
    }
    sumChannels<C>(
        layout,
        [this, mean](int64_t i, int64_t c) {
          const C d = load(i) - mean[c];
          return Pair<C>{d, d * d};
        },
        sums);
    for (int64_t c = 0; c < channels; ++c) {
      // What is left of the sum corrects the rounding of the mean.
      const double rest = sums[c] / count;
      const double squares = sums[channels + c] - rest * sums[c];
      sums[c] = double(mean[c]) + rest;
      sums[channels + c] = squares / count;
    }
  }

  void moveRunning() const {
    const double count = double(layout.perChannel());
    const double unbiased = count > 1 ? count / (count - 1) : INFINITY;
    for (int64_t c = 0; c < layout.channels; ++c) {
      const double variance = sums[layout.channels + c] * unbiased;
      const auto move = [this](C* running, double value) {
        *running = static_cast<C>((1 - momentum) * double(*running) +
                                  momentum * value);
      };
      if (running_mean != nullptr) move(running_mean + c, sums[c]);
      if (running_var != nullptr) move(running_var + c, variance);
    }
  }

  void computeFactors() const {
    const int64_t channels = layout.channels;
    for (int64_t c = 0; c < channels; ++c) {
      const double mean = training ? sums[c] : double(running_mean[c]);
      const double variance =
          training ? sums[channels + c] : double(running_var[c]);
      const double invstd = 1.0 / std::sqrt(variance + eps);
      if (training && save_mean != nullptr) {
        save_mean[c] = static_cast<C>(mean);
        save_invstd[c] = static_cast<C>(invstd);
      }
      factors[c] = static_cast<C>(mean);
      factors[channels + c] =
          static_cast<C>(weight == nullptr ? invstd : invstd * double(weight[c]));
      factors[2 * channels + c] = bias == nullptr ? C(0) : bias[c];
    }
  }

  void run() const {
    if (training) {
      batchStatistics();
      moveRunning();
    }
    computeFactors();
    const C* mean = factors;
    const C* scale = factors + layout.channels;
    const C* shift = scale + layout.channels;
    mapChannels(layout, [this, mean, scale, shift](int64_t i, int64_t c) {
      out[i] = static_cast<T>((load(i) - mean[c]) * scale[c] + shift[c]);
    });
  }
};

Status check(const BatchNormArguments& a) {
  if (a.input.ndim < 2 || !sameShape(a.out, a.input)) {
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

}  // namespace

Status batchNorm(const Queue& queue, const BatchNormArguments& a) {
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
       b = b.address(), rm = rm.address(), rv = rv.address(),
       sm = sm.address(), si = si.address(), sums = scratch.sums(),
       factors = scratch.factors(), training = a.training,
       momentum = a.momentum, eps = a.eps](auto tag) {
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
                   momentum,
                   eps}
            .run();
      });
  if (sent != Status::kOk) return sent;
  if (!a.training) return y.store();
  return storeAll({&y, &rm, &rv, &sm, &si});
}

}  // namespace dipu::kernels
