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
  double* sums;     // scratch of sumInterleaved
  C* factors;       // per channel: mean, then three factors
  bool training;
  double eps;

  C load(const T* from, int64_t i) const { return static_cast<C>(from[i]); }

  Pair<C> term(int64_t i, C center) const {
    const C g = load(grad_output, i);
    return {g, g * (load(input, i) - center)};
  }

  // grad_input = g * a + (x - mean) * b + d.
  struct Factors {
    C mean, a, b, d;
  };
  void store(int64_t i, const Factors& f) const {
    const C x = load(input, i) - f.mean;
    grad_input[i] = static_cast<T>(load(grad_output, i) * f.a + x * f.b + f.d);
  }

  // Writes the gradients of weight and bias of a channel, from the sums of its
  // terms, and returns the factors of the input's.
  Factors finish(int64_t c, const Pair<double>& total) const {
    const double count = double(layout.perChannel());
    const double invstd =
        training ? double(spread[c]) : 1.0 / std::sqrt(double(spread[c]) + eps);
    const double a = weight == nullptr ? invstd : invstd * double(weight[c]);
    if (grad_weight != nullptr) {
      grad_weight[c] = static_cast<C>(total.second * invstd);
    }
    if (grad_bias != nullptr) grad_bias[c] = static_cast<C>(total.first);
    const double slope = total.second * invstd * invstd / count;
    return {mean[c], static_cast<C>(a),
            static_cast<C>(training ? -a * slope : 0.0),
            static_cast<C>(training ? -a * total.first / count : 0.0)};
  }

  void planarChannel(int64_t c) const {
    const C center = mean[c];
    const Factors f =
        finish(c, sumChannel<C>(layout, c, [this, center](int64_t i, int64_t) {
                 return term(i, center);
               }));
    if (grad_input == nullptr) return;
    mapChannel(layout, c, [this, f](int64_t i, int64_t) { store(i, f); });
  }

  void interleaved() const {
    const int64_t channels = layout.channels;
    const C* center = mean;
    sumInterleaved<C>(
        layout,
        [this, center](int64_t i, int64_t c) { return term(i, center[c]); },
        sums);
    for (int64_t c = 0; c < channels; ++c) {
      const Factors f = finish(c, {sums[c], sums[channels + c]});
      factors[c] = f.mean;
      factors[channels + c] = f.a;
      factors[2 * channels + c] = f.b;
      factors[3 * channels + c] = f.d;
    }
    if (grad_input == nullptr) return;
    const C* a = factors + channels;
    const C* b = a + channels;
    const C* d = b + channels;
    mapInterleaved(layout, [this, center, a, b, d](int64_t i, int64_t c) {
      store(i, {center[c], a[c], b[c], d[c]});
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
