// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/normalization/group_norm.h"

#include <cmath>

#include "kernels/compute/operands.h"
#include "kernels/compute/parallel.h"
#include "kernels/compute/sums.h"

namespace dipu::kernels {
namespace {

constexpr int64_t kCost = 3;

// A group is `channels` planes of `pixels` elements, one behind the other.
struct Groups {
  int64_t samples;
  int64_t groups;
  int64_t channels;
  int64_t pixels;

  int64_t count() const { return samples * groups; }
  int64_t length() const { return channels * pixels; }
  int64_t allChannels() const { return groups * channels; }
};

Groups groupsOf(const TensorView& input, int64_t groups) {
  Groups shape{input.sizes[0], groups, input.sizes[1] / groups, 1};
  for (int32_t i = 2; i < input.ndim; ++i) shape.pixels *= input.sizes[i];
  return shape;
}

template <typename T>
struct Forward {
  using C = ComputeType<T>;
  Groups shape;
  T* out;
  C* mean;
  C* rstd;
  const T* input;
  const C* weight;
  const C* bias;
  double eps;

  void group(int64_t index) const {
    const int64_t n = shape.length();
    const T* x = input + index * n;
    const C average = static_cast<C>(
        sumTerms<C>(n, [&](int64_t i) { return static_cast<C>(x[i]); }) /
        double(n));
    const double squares = sumTerms<C>(n, [&](int64_t i) {
      const C d = static_cast<C>(x[i]) - average;
      return d * d;
    });
    const C scale = static_cast<C>(1.0 / std::sqrt(squares / double(n) + eps));
    if (mean != nullptr) mean[index] = average;
    if (rstd != nullptr) rstd[index] = scale;
    for (int64_t c = 0; c < shape.channels; ++c) {
      const int64_t channel = index % shape.groups * shape.channels + c;
      const C factor = weight == nullptr ? scale : scale * weight[channel];
      const C shift = bias == nullptr ? C(0) : bias[channel];
      const T* from = x + c * shape.pixels;
      T* to = out + index * n + c * shape.pixels;
#pragma GCC ivdep
      for (int64_t i = 0; i < shape.pixels; ++i) {
        to[i] = static_cast<T>((static_cast<C>(from[i]) - average) * factor +
                               shift);
      }
    }
  }

  void run() const {
    parallelFor(shape.count(), grainFor(shape.length(), kCost),
                [this](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) group(i);
                });
  }
};

template <typename T>
struct Backward {
  using C = ComputeType<T>;
  Groups shape;
  T* grad_input;
  C* grad_weight;
  C* grad_bias;
  const T* grad_output;
  const T* input;
  const C* weight;
  const C* mean;
  const C* rstd;
  Pair<double>* sums;  // per sample and channel: of g, of g * (x - mean)

  void sumGroup(int64_t index) const {
    const C average = mean[index];
    for (int64_t c = 0; c < shape.channels; ++c) {
      const int64_t plane = index * shape.channels + c;
      const T* g = grad_output + plane * shape.pixels;
      const T* x = input + plane * shape.pixels;
      sums[plane] = sumPairs<C>(shape.pixels, [&](int64_t i) {
        const C gradient = static_cast<C>(g[i]);
        return Pair<C>{gradient, gradient * (static_cast<C>(x[i]) - average)};
      });
    }
  }

  void inputGroup(int64_t index) const {
    Pair<double> total{0, 0};
    const int64_t first = index % shape.groups * shape.channels;
    for (int64_t c = 0; c < shape.channels; ++c) {
      const Pair<double>& part = sums[index * shape.channels + c];
      const double w = weight == nullptr ? 1.0 : double(weight[first + c]);
      total.first += part.first * w;
      total.second += part.second * w;
    }
    const C average = mean[index];
    const C scale = rstd[index];
    const double n = double(shape.length());
    const C shift = static_cast<C>(-total.first / n) * scale;
    const C slope = static_cast<C>(-total.second / n) * scale * scale * scale;
    for (int64_t c = 0; c < shape.channels; ++c) {
      const C factor = weight == nullptr ? scale : scale * weight[first + c];
      const int64_t base = (index * shape.channels + c) * shape.pixels;
#pragma GCC ivdep
      for (int64_t i = base; i < base + shape.pixels; ++i) {
        const C d = static_cast<C>(input[i]) - average;
        grad_input[i] = static_cast<T>(static_cast<C>(grad_output[i]) * factor +
                                       d * slope + shift);
      }
    }
  }

  void channel(int64_t c) const {
    double to_weight = 0;
    double to_bias = 0;
    for (int64_t n = 0; n < shape.samples; ++n) {
      const Pair<double>& part = sums[n * shape.allChannels() + c];
      const int64_t group = n * shape.groups + c / shape.channels;
      to_weight += part.second * double(rstd[group]);
      to_bias += part.first;
    }
    if (grad_weight != nullptr) grad_weight[c] = static_cast<C>(to_weight);
    if (grad_bias != nullptr) grad_bias[c] = static_cast<C>(to_bias);
  }

  void run() const {
    parallelFor(shape.count(), grainFor(shape.length(), kCost),
                [this](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    sumGroup(i);
                    if (grad_input != nullptr) inputGroup(i);
                  }
                });
    if (grad_weight == nullptr && grad_bias == nullptr) return;
    for (int64_t c = 0; c < shape.allChannels(); ++c) channel(c);
  }
};

Status check(const char* name, const TensorView& input, const TensorView& same,
             int64_t groups) {
  if (input.ndim < 2 || groups < 1 || input.sizes[1] % groups != 0) {
    return fail(Status::kInvalid, "%s: %ld groups do not divide the channels",
                name, long(groups));
  }
  if (!sameShape(input, same)) {
    return fail(Status::kInvalid, "%s: tensors differ in dtype or shape", name);
  }
  return Status::kOk;
}

}  // namespace

Status groupNorm(const Queue& queue, const TensorView& out,
                 const TensorView& mean, const TensorView& rstd,
                 const TensorView& input, const TensorView& weight,
                 const TensorView& bias, int64_t groups, double eps) {
  const Status status = check("group_norm", input, out, groups);
  if (status != Status::kOk || input.numel == 0) return status;
  const DType compute = computeDType(input.dtype);
  constexpr Order kOrder = Order::kRowMajor;
  DenseTensor x(queue, input, kOrder);
  DenseTensor y(queue, out, kOrder);
  DenseTensor w(queue, weight, kOrder, compute);
  DenseTensor b(queue, bias, kOrder, compute);
  DenseTensor m(queue, mean, kOrder, compute);
  DenseTensor r(queue, rstd, kOrder, compute);
  if (!x.load() || !w.load() || !b.load() || !y.open() || !m.open() ||
      !r.open()) {
    return Status::kFailed;
  }
  const Groups shape = groupsOf(input, groups);
  const Status sent = launchFloating(
      queue, "group_norm", input.dtype,
      [shape, eps, y = y.address(), m = m.address(), r = r.address(),
       x = x.address(), w = w.address(), b = b.address()](auto tag) {
        using T = typename decltype(tag)::type;
        using C = ComputeType<T>;
        Forward<T>{shape,
                   static_cast<T*>(y),
                   static_cast<C*>(m),
                   static_cast<C*>(r),
                   static_cast<T*>(x),
                   static_cast<C*>(w),
                   static_cast<C*>(b),
                   eps}
            .run();
      });
  if (sent != Status::kOk) return sent;
  return storeAll({&y, &m, &r});
}

Status groupNormBackward(const Queue& queue, const TensorView& grad_input,
                         const TensorView& grad_weight,
                         const TensorView& grad_bias,
                         const TensorView& grad_output, const TensorView& input,
                         const TensorView& weight, const TensorView& mean,
                         const TensorView& rstd, int64_t groups) {
  const Status status =
      check("group_norm_backward", input, grad_output, groups);
  if (status != Status::kOk || input.sizes[1] == 0) return status;
  const DType compute = computeDType(input.dtype);
  constexpr Order kOrder = Order::kRowMajor;
  DenseTensor dx(queue, grad_input, kOrder);
  DenseTensor dw(queue, grad_weight, kOrder, compute);
  DenseTensor db(queue, grad_bias, kOrder, compute);
  DenseTensor g(queue, grad_output, kOrder);
  DenseTensor x(queue, input, kOrder);
  DenseTensor w(queue, weight, kOrder, compute);
  DenseTensor m(queue, mean, kOrder, compute);
  DenseTensor r(queue, rstd, kOrder, compute);
  if (!g.load() || !x.load() || !w.load() || !m.load() || !r.load() ||
      !dx.open() || !dw.open() || !db.open()) {
    return Status::kFailed;
  }
  const Groups shape = groupsOf(input, groups);
  void* sums =
      scratchAddress(queue, shape.samples * shape.allChannels() *
                                static_cast<int64_t>(sizeof(Pair<double>)));
  if (sums == nullptr) return Status::kFailed;
  const Status sent = launchFloating(
      queue, "group_norm_backward", input.dtype,
      [shape, sums, dx = dx.address(), dw = dw.address(), db = db.address(),
       g = g.address(), x = x.address(), w = w.address(), m = m.address(),
       r = r.address()](auto tag) {
        using T = typename decltype(tag)::type;
        using C = ComputeType<T>;
        Backward<T>{shape,
                    static_cast<T*>(dx),
                    static_cast<C*>(dw),
                    static_cast<C*>(db),
                    static_cast<const T*>(g),
                    static_cast<const T*>(x),
                    static_cast<const C*>(w),
                    static_cast<const C*>(m),
                    static_cast<const C*>(r),
                    static_cast<Pair<double>*>(sums)}
            .run();
      });
  if (sent != Status::kOk) return sent;
  return storeAll({&dx, &dw, &db});
}

}  // namespace dipu::kernels
