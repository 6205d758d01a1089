// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/normalization/rms_norm.h"

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

template <typename T>
struct Forward {
  using C = ComputeType<T>;
  NormalizedRows rows;
  T* out;
  C* inv_rms;
  const T* input;
  const C* weight;
  const C* bias;
  double eps;

  void row(int64_t r, C* buffer) const {
    const int64_t n = rows.length;
    const C* x = loadLine(input + r * n, 1, n, buffer);
    C* y = openLine(out + r * n, 1, buffer);
    const double squares =
        sumTerms<C>(n, [x](int64_t i) { return x[i] * x[i]; });
    const C scale = static_cast<C>(1.0 / std::sqrt(squares / double(n) + eps));
    if (inv_rms != nullptr) inv_rms[r] = scale;
    for (int64_t i = 0; i < n; ++i) y[i] = x[i] * scale;
    for (int64_t i = 0; weight != nullptr && i < n; ++i) y[i] *= weight[i];
    for (int64_t i = 0; bias != nullptr && i < n; ++i) y[i] += bias[i];
    storeLine(y, n, out + r * n, 1);
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
  const C* inv_rms;
  C* partial;  // per block: sums for the weight, then for the bias
  int64_t blocks;

  void inputRow(const C* g, const C* x, C scale, C* d) const {
    const int64_t n = rows.length;
    const C* w = weight;
    const double sum = sumTerms<C>(n, [=](int64_t i) {
      return g[i] * x[i] * (w == nullptr ? C(1) : w[i]);
    });
    const C common = static_cast<C>(sum / double(n)) * scale * scale;
    for (int64_t i = 0; i < n; ++i) {
      const C slope = w == nullptr ? g[i] : g[i] * w[i];
      d[i] = scale * (slope - x[i] * common);
    }
  }

  void addRow(const C* g, const C* x, C scale, C* sums) const {
    const int64_t n = rows.length;
    C* __restrict to_weight = sums;
    C* __restrict to_bias = sums + n;
    for (int64_t i = 0; i < n; ++i) {
      to_weight[i] += g[i] * x[i] * scale;
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
      if (sums != nullptr) addRow(g, x, inv_rms[r], sums);
      if (grad_input == nullptr) continue;
      C* d = openLine(grad_input + r * n, 1, buffer + 2 * n);
      inputRow(g, x, inv_rms[r], d);
      storeLine(d, n, grad_input + r * n, 1);
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

struct BackwardTensors {
  const DenseTensor* grad_input;
  const DenseTensor* grad_weight;
  const DenseTensor* grad_bias;
  const DenseTensor* grad_output;
  const DenseTensor* input;
  const DenseTensor* weight;
  const DenseTensor* inv_rms;
};

Status launchBackward(const Queue& queue, const NormalizedRows& rows,
                      DType dtype, const BackwardTensors& t) {
  void* partial = nullptr;
  if (t.grad_weight->address() != nullptr ||
      t.grad_bias->address() != nullptr) {
    partial = blockSums(queue, rows, computeDType(dtype));
    if (partial == nullptr) return Status::kFailed;
  }
  return launchFloating(
      queue, "rms_norm_backward", dtype,
      [rows, partial, dx = t.grad_input->address(),
       dw = t.grad_weight->address(), db = t.grad_bias->address(),
       g = t.grad_output->address(), x = t.input->address(),
       w = t.weight->address(), r = t.inv_rms->address()](auto tag) {
        using T = typename decltype(tag)::type;
        using C = ComputeType<T>;
        Backward<T>{rows,
                    static_cast<T*>(dx),
                    static_cast<C*>(dw),
                    static_cast<C*>(db),
                    static_cast<const T*>(g),
                    static_cast<const T*>(x),
                    static_cast<const C*>(w),
                    static_cast<const C*>(r),
                    static_cast<C*>(partial),
                    blocksOf(rows)}
            .run();
      });
}

// Whether an optional tensor has `count` elements.
bool has(const TensorView& tensor, int64_t count) {
  return !tensor.defined() || tensor.numel == count;
}

Status checkRows(const TensorView& input, int64_t dims,
                 const TensorView& weight, const TensorView& bias,
                 const TensorView& inv_rms, NormalizedRows* rows) {
  const Status status = readRows("rms_norm", input, dims, rows);
  if (status != Status::kOk) return status;
  if (has(weight, rows->length) && has(bias, rows->length) &&
      has(inv_rms, rows->count)) {
    return Status::kOk;
  }
  return fail(Status::kInvalid,
              "rms_norm: weight and bias need %ld elements, inv_rms %ld",
              long(rows->length), long(rows->count));
}

}  // namespace

Status rmsNorm(const Queue& queue, const TensorView& out,
               const TensorView& inv_rms, const TensorView& input,
               const TensorView& weight, const TensorView& bias,
               int64_t normalized_dims, double eps) {
  NormalizedRows rows;
  const Status status =
      checkRows(input, normalized_dims, weight, bias, inv_rms, &rows);
  if (status != Status::kOk) return status;
  if (!sameShape(out, input)) {
    return fail(Status::kInvalid, "rms_norm: out and input differ");
  }
  if (out.numel == 0) return Status::kOk;
  const DType compute = computeDType(input.dtype);
  constexpr Order kOrder = Order::kRowMajor;
  DenseTensor x(queue, input, kOrder);
  DenseTensor y(queue, out, kOrder);
  DenseTensor w(queue, weight, kOrder, compute);
  DenseTensor b(queue, bias, kOrder, compute);
  DenseTensor r(queue, inv_rms, kOrder, compute);
  if (!x.load() || !w.load() || !b.load() || !y.open() || !r.open()) {
    return Status::kFailed;
  }
  const Status sent = launchFloating(
      queue, "rms_norm", input.dtype,
      [rows, eps, y = y.address(), r = r.address(), x = x.address(),
       w = w.address(), b = b.address()](auto tag) {
        using T = typename decltype(tag)::type;
        using C = ComputeType<T>;
        Forward<T>{rows,
                   static_cast<T*>(y),
                   static_cast<C*>(r),
                   static_cast<T*>(x),
                   static_cast<C*>(w),
                   static_cast<C*>(b),
                   eps}
            .run();
      });
  return sent == Status::kOk ? storeAll({&y, &r}) : sent;
}

Status rmsNormBackward(const Queue& queue, const TensorView& grad_input,
                       const TensorView& grad_weight,
                       const TensorView& grad_bias,
                       const TensorView& grad_output, const TensorView& input,
                       const TensorView& weight, const TensorView& inv_rms,
                       int64_t normalized_dims) {
  NormalizedRows rows;
  Status status =
      checkRows(input, normalized_dims, weight, grad_bias, inv_rms, &rows);
  if (status != Status::kOk) return status;
  if (!inv_rms.defined() || !sameShape(grad_output, input) ||
      !has(grad_weight, rows.length) || !has(grad_input, input.numel)) {
    return fail(Status::kInvalid,
                "rms_norm_backward: gradients and their tensors differ, or "
                "inv_rms is missing");
  }
  if (rows.length == 0) return Status::kOk;
  const DType compute = computeDType(input.dtype);
  constexpr Order kOrder = Order::kRowMajor;
  DenseTensor dx(queue, grad_input, kOrder, input.dtype);
  DenseTensor dw(queue, grad_weight, kOrder, compute);
  DenseTensor db(queue, grad_bias, kOrder, compute);
  DenseTensor g(queue, grad_output, kOrder);
  DenseTensor x(queue, input, kOrder);
  DenseTensor w(queue, weight, kOrder, compute);
  DenseTensor r(queue, inv_rms, kOrder, compute);
  if (!g.load() || !x.load() || !w.load() || !r.load() || !dx.open() ||
      !dw.open() || !db.open()) {
    return Status::kFailed;
  }
  const BackwardTensors tensors{&dx, &dw, &db, &g, &x, &w, &r};
  status = launchBackward(queue, rows, input.dtype, tensors);
  return status == Status::kOk ? storeAll({&dx, &dw, &db}) : status;
}

}  // namespace dipu::kernels
