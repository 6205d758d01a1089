// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/normalization/layer_norm.h"

#include <algorithm>
#include <cmath>

#include "kernels/compute/lines.h"
#include "kernels/compute/normalization/rows.h"
#include "kernels/compute/operands.h"
#include "kernels/compute/parallel.h"
#include "kernels/compute/sums.h"
#include "kernels/compute/worker_buffer.h"

namespace dipu::kernels {
namespace {

constexpr int64_t kCost = 2;

// y = (x - mean) * rstd * weight + bias; x and y may be the same.
template <typename C>
void normalizeRow(const C* x, int64_t n, C mean, C rstd, const C* weight,
                  const C* bias, C* y) {
  if (weight == nullptr) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * rstd;
  } else {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * rstd * weight[i];
  }
  if (bias == nullptr) return;
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] += bias[i];
}

template <typename T>
struct Forward {
  using C = ComputeType<T>;
  NormalizedRows rows;
  T* out;
  C* mean;
  C* rstd;
  const T* input;
  const C* weight;
  const C* bias;
  double eps;

  void row(int64_t r, C* buffer) const {
    const int64_t n = rows.length;
    T* to = out + r * n;
    const C* x = loadLine(input + r * n, 1, n, buffer);
    C* y = openLine(to, 1, buffer);
    const C average = static_cast<C>(
        sumTerms<C>(n, [&](int64_t i) { return x[i]; }) / double(n));
    const double squares = sumTerms<C>(n, [&](int64_t i) {
      const C d = x[i] - average;
      return d * d;
    });
    const C scale = static_cast<C>(1.0 / std::sqrt(squares / double(n) + eps));
    if (mean != nullptr) mean[r] = average;
    if (rstd != nullptr) rstd[r] = scale;
    normalizeRow(x, n, average, scale, weight, bias, y);
    storeLine(y, n, to, 1);
  }

  void run() const {
    parallelFor(rows.count, grainFor(rows.length, kCost),
                [this](int64_t begin, int64_t end) {
                  C* buffer = workerBuffer<kReduceSlot>().get<C>(rows.length);
                  for (int64_t r = begin; r < end; ++r) row(r, buffer);
                });
  }
};

template <typename T>
struct Backward {
  using C = ComputeType<T>;
  NormalizedRows rows;
  T* grad_input;
  C* grad_weight;
  C* grad_bias;
  const T* grad_output;
  const T* input;
  const C* weight;
  const C* mean;
  const C* rstd;
  C* partial;  // per block: sums for the weight, then for the bias
  int64_t blocks;

  void inputRow(const C* g, const C* x, C average, C scale, C* d) const {
    const int64_t n = rows.length;
    const C* w = weight;
    const Pair<double> sums = sumPairs<C>(n, [&](int64_t i) {
      const C gw = w == nullptr ? g[i] : g[i] * w[i];
      return Pair<C>{gw, gw * (x[i] - average)};
    });
    const C first = static_cast<C>(sums.first / double(n));
    const C second = static_cast<C>(sums.second / double(n)) * scale * scale;
    if (w == nullptr) {
#pragma omp simd
      for (int64_t i = 0; i < n; ++i) {
        d[i] = scale * (g[i] - first - (x[i] - average) * second);
      }
    } else {
#pragma omp simd
      for (int64_t i = 0; i < n; ++i) {
        d[i] = scale * (g[i] * w[i] - first - (x[i] - average) * second);
      }
    }
  }

  void addRow(const C* g, const C* x, C average, C scale, C* sums) const {
    const int64_t n = rows.length;
    C* __restrict to_weight = sums;
    C* __restrict to_bias = sums + n;
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) {
      to_weight[i] += g[i] * ((x[i] - average) * scale);
      to_bias[i] += g[i];
    }
  }

  void block(int64_t index) const {
    const int64_t n = rows.length;
    C* buffer = workerBuffer<kReduceSlot>().get<C>(3 * n);
    C* sums = partial == nullptr ? nullptr : partial + index * 2 * n;
    if (sums != nullptr) std::fill(sums, sums + 2 * n, C(0));
    const int64_t end = rows.count * (index + 1) / blocks;
    for (int64_t r = rows.count * index / blocks; r < end; ++r) {
      const C* g = loadLine(grad_output + r * n, 1, n, buffer);
      const C* x = loadLine(input + r * n, 1, n, buffer + n);
      if (sums != nullptr) addRow(g, x, mean[r], rstd[r], sums);
      if (grad_input == nullptr) continue;
      T* to = grad_input + r * n;
      C* d = openLine(to, 1, buffer + 2 * n);
      inputRow(g, x, mean[r], rstd[r], d);
      storeLine(d, n, to, 1);
    }
  }

  void run() const {
    const int64_t per_block = rows.length * (rows.count / blocks + 1);
    parallelFor(blocks, grainFor(per_block, 2 * kCost),
                [this](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) block(i);
                });
    if (partial == nullptr) return;
    combineBlocks(partial, blocks, rows.length, 0, grad_weight);
    combineBlocks(partial, blocks, rows.length, rows.length, grad_bias);
  }
};

}  // namespace

Status layerNorm(const Queue& queue, const TensorView& out,
                 const TensorView& mean, const TensorView& rstd,
                 const TensorView& input, const TensorView& weight,
                 const TensorView& bias, int64_t normalized_dims, double eps) {
  NormalizedRows rows;
  const Status status = readRows("layer_norm", input, normalized_dims, &rows);
  if (status != Status::kOk) return status;
  if (!sameShape(out, input)) {
    return fail(Status::kInvalid, "layer_norm: out and input differ");
  }
  if (out.numel == 0) return Status::kOk;
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
  const Status sent = launchFloating(
      queue, "layer_norm", input.dtype,
      [rows, eps, y = y.address(), m = m.address(), r = r.address(),
       x = x.address(), w = w.address(), b = b.address()](auto tag) {
        using T = typename decltype(tag)::type;
        using C = ComputeType<T>;
        Forward<T>{rows,
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

Status layerNormBackward(const Queue& queue, const TensorView& grad_input,
                         const TensorView& grad_weight,
                         const TensorView& grad_bias,
                         const TensorView& grad_output, const TensorView& input,
                         const TensorView& weight, const TensorView& mean,
                         const TensorView& rstd, int64_t normalized_dims) {
  NormalizedRows rows;
  const Status status =
      readRows("layer_norm_backward", input, normalized_dims, &rows);
  if (status != Status::kOk) return status;
  if (!sameShape(grad_output, input)) {
    return fail(Status::kInvalid,
                "layer_norm_backward: grad_output and input differ");
  }
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
  if (rows.length == 0) return Status::kOk;
  void* partial = nullptr;
  if (grad_weight.defined() || grad_bias.defined()) {
    partial = blockSums(queue, rows, compute);
    if (partial == nullptr) return Status::kFailed;
  }
  const Status sent = launchFloating(
      queue, "layer_norm_backward", input.dtype,
      [rows, partial, dx = dx.address(), dw = dw.address(), db = db.address(),
       g = g.address(), x = x.address(), w = w.address(), m = m.address(),
       r = r.address()](auto tag) {
        using T = typename decltype(tag)::type;
        using C = ComputeType<T>;
        Backward<T>{rows,
                    static_cast<T*>(dx),
                    static_cast<C*>(dw),
                    static_cast<C*>(db),
                    static_cast<const T*>(g),
                    static_cast<const T*>(x),
                    static_cast<const C*>(w),
                    static_cast<const C*>(m),
                    static_cast<const C*>(r),
                    static_cast<C*>(partial),
                    blocksOf(rows)}
            .run();
      });
  if (sent != Status::kOk) return sent;
  return storeAll({&dx, &dw, &db});
}

}  // namespace dipu::kernels
