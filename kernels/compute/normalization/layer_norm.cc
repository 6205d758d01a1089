// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/normalization/layer_norm.h"

#include <algorithm>
#include <cmath>

#include "kernels/compute/lines.h"
#include "kernels/compute/operands.h"
#include "kernels/compute/parallel.h"
#include "kernels/compute/sums.h"
#include "kernels/compute/worker_buffer.h"

namespace dipu::kernels {
namespace {

constexpr int64_t kCost = 2;

// The tensor as rows that are normalized one by one.
struct Rows {
  int64_t count;
  int64_t length;
};

Rows rowsOf(const TensorView& view, int64_t normalized_dims) {
  Rows rows{1, 1};
  for (int32_t i = 0; i < view.ndim; ++i) {
    const bool inside = i >= view.ndim - normalized_dims;
    (inside ? rows.length : rows.count) *= view.sizes[i];
  }
  return rows;
}

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
  Rows rows;
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

// Gradients of weight and bias are summed over fixed blocks of rows first.
constexpr int64_t kMaxBlocks = 16;

template <typename T>
struct Backward {
  using C = ComputeType<T>;
  Rows rows;
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

  void combine(C* to, int64_t offset) const {
    const int64_t n = rows.length;
    for (int64_t i = 0; to != nullptr && i < n; ++i) {
      double sum = 0;
      for (int64_t b = 0; b < blocks; ++b) {
        sum += static_cast<double>(partial[b * 2 * n + offset + i]);
      }
      to[i] = static_cast<C>(sum);
    }
  }

  void run() const {
    const int64_t per_block = rows.length * (rows.count / blocks + 1);
    parallelFor(blocks, grainFor(per_block, 2 * kCost),
                [this](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) block(i);
                });
    if (partial == nullptr) return;
    combine(grad_weight, 0);
    combine(grad_bias, rows.length);
  }
};

Status checkRows(const char* name, const TensorView& input, int64_t dims) {
  if (dims >= 1 && dims <= input.ndim) return Status::kOk;
  return fail(Status::kInvalid, "%s: %ld normalized dimensions of %d", name,
              long(dims), input.ndim);
}

}  // namespace

Status layerNorm(const Queue& queue, const TensorView& out,
                 const TensorView& mean, const TensorView& rstd,
                 const TensorView& input, const TensorView& weight,
                 const TensorView& bias, int64_t normalized_dims, double eps) {
  const Status status = checkRows("layer_norm", input, normalized_dims);
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
  const Rows rows = rowsOf(input, normalized_dims);
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
  const Status status =
      checkRows("layer_norm_backward", input, normalized_dims);
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
  const Rows rows = rowsOf(input, normalized_dims);
  if (rows.length == 0) return Status::kOk;
  const int64_t blocks =
      std::clamp<int64_t>(rows.count / 8, int64_t{1}, kMaxBlocks);
  void* partial = nullptr;
  if (grad_weight.defined() || grad_bias.defined()) {
    partial =
        scratchAddress(queue, blocks * 2 * rows.length *
                                  static_cast<int64_t>(itemSize(compute)));
    if (partial == nullptr) return Status::kFailed;
  }
  const Status sent = launchFloating(
      queue, "layer_norm_backward", input.dtype,
      [rows, partial, blocks, dx = dx.address(), dw = dw.address(),
       db = db.address(), g = g.address(), x = x.address(), w = w.address(),
       m = m.address(), r = r.address()](auto tag) {
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
                    blocks}
            .run();
      });
  if (sent != Status::kOk) return sent;
  return storeAll({&dx, &dw, &db});
}

}  // namespace dipu::kernels
