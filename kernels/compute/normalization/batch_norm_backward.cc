// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "kernels/compute/normalization/batch_norm.h"
#include "kernels/compute/normalization/channel_layout.h"
#include "kernels/compute/normalization/channels.h"
#include "kernels/compute/operands.h"

namespace dipu::kernels {
namespace {

template <typename T>
struct Backward {
  using C = ComputeType<T>;
  ChannelLayout layout;
  T* grad_input;
  C* grad_weight;
  C* grad_bias;
  const T* grad_output;
  const T* input;
  const C* weight;
  const C* mean;    // of the batch, or the running one
  const C* spread;  // reciprocal deviation, or the running variance
  double* sums;     // scratch of sumChannels
  C* factors;       // per channel: mean, then three factors
  bool training;
  double eps;

  C load(const T* from, int64_t i) const { return static_cast<C>(from[i]); }

  void sumGradients() const {
    const C* center = mean;
    sumChannels<C>(
        layout,
        [this, center](int64_t i, int64_t c) {
          const C g = load(grad_output, i);
          return Pair<C>{g, g * (load(input, i) - center[c])};
        },
        sums);
  }

  // grad_input = (g * a) + (x - mean) * b + d per channel.
  void computeFactors() const {
    const int64_t channels = layout.channels;
    const double count = double(layout.perChannel());
    for (int64_t c = 0; c < channels; ++c) {
      const double invstd = training
                                ? double(spread[c])
                                : 1.0 / std::sqrt(double(spread[c]) + eps);
      const double a = weight == nullptr ? invstd : invstd * double(weight[c]);
      if (grad_weight != nullptr) {
        grad_weight[c] = static_cast<C>(sums[channels + c] * invstd);
      }
      if (grad_bias != nullptr) grad_bias[c] = static_cast<C>(sums[c]);
      const double slope = sums[channels + c] * invstd * invstd / count;
      factors[c] = mean[c];
      factors[channels + c] = static_cast<C>(a);
      factors[2 * channels + c] = static_cast<C>(training ? -a * slope : 0.0);
      factors[3 * channels + c] =
          static_cast<C>(training ? -a * sums[c] / count : 0.0);
    }
  }

  void run() const {
    sumGradients();
    computeFactors();
    if (grad_input == nullptr) return;
    const C* center = factors;
    const C* a = center + layout.channels;
    const C* b = a + layout.channels;
    const C* d = b + layout.channels;
    if (!training) {
      mapChannels(layout, [this, a](int64_t i, int64_t c) {
        grad_input[i] = static_cast<T>(load(grad_output, i) * a[c]);
      });
      return;
    }
    mapChannels(layout, [this, center, a, b, d](int64_t i, int64_t c) {
      const C x = load(input, i) - center[c];
      grad_input[i] = static_cast<T>(load(grad_output, i) * a[c] + x * b[c] +
                                     d[c]);
    });
  }
};

Status check(const BatchNormBackwardArguments& a) {
  if (a.input.ndim < 2 || !sameShape(a.grad_output, a.input)) {
    return fail(Status::kInvalid,
                "batch_norm_backward: grad_output and input differ");
  }
  const TensorView& mean = a.training ? a.save_mean : a.running_mean;
  const TensorView& spread = a.training ? a.save_invstd : a.running_var;
  if (mean.numel != a.input.sizes[1] || spread.numel != a.input.sizes[1]) {
    return fail(Status::kInvalid,
                "batch_norm_backward: no statistics for %ld channels",
                long(a.input.sizes[1]));
  }
  return Status::kOk;
}

}  // namespace

Status batchNormBackward(const Queue& queue,
                         const BatchNormBackwardArguments& a) {
  const Status status = check(a);
  if (status != Status::kOk) return status;
  const DType compute = computeDType(a.input.dtype);
  constexpr Order kRow = Order::kRowMajor;
  const Order order = orderOf(a.input);
  DenseTensor x(queue, a.input, order);
  DenseTensor g(queue, a.grad_output, order);
  DenseTensor w(queue, a.weight, kRow, compute);
  DenseTensor m(queue, a.training ? a.save_mean : a.running_mean, kRow,
                compute);
  DenseTensor s(queue, a.training ? a.save_invstd : a.running_var, kRow,
                compute);
  DenseTensor dx(queue, a.grad_input, order);
  DenseTensor dw(queue, a.grad_weight, kRow, compute);
  DenseTensor db(queue, a.grad_bias, kRow, compute);
  if (!x.load() || !g.load() || !w.load() || !m.load() || !s.load() ||
      !dx.open() || !dw.open() || !db.open()) {
    return Status::kFailed;
  }
  const ChannelLayout layout = channelLayout(a.input, order);
  ChannelScratch scratch(queue, layout, compute);
  if (!scratch.valid()) return Status::kFailed;
  const Status sent = launchFloating(
      queue, "batch_norm_backward", a.input.dtype,
      [layout, dx = dx.address(), dw = dw.address(), db = db.address(),
       g = g.address(), x = x.address(), w = w.address(), m = m.address(),
       s = s.address(), sums = scratch.sums(), factors = scratch.factors(),
       training = a.training, eps = a.eps](auto tag) {
        using T = typename decltype(tag)::type;
        using C = ComputeType<T>;
        Backward<T>{layout,
                    static_cast<T*>(dx),
                    static_cast<C*>(dw),
                    static_cast<C*>(db),
                    static_cast<const T*>(g),
                    static_cast<const T*>(x),
                    static_cast<const C*>(w),
                    static_cast<const C*>(m),
                    static_cast<const C*>(s),
                    sums,
                    static_cast<C*>(factors),
                    training,
                    eps}
            .run();
      });
  if (sent != Status::kOk) return sent;
  return storeAll({&dx, &dw, &db});
}

}  // namespace dipu::kernels
