// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/gemm/gemm.h"

#include <algorithm>

#include "kernels/compute/gemm/problem.h"
#include "kernels/compute/gemm/shape.h"

namespace dipu::kernels {
namespace {

using gemm::Matrices;
using gemm::Problem;

bool supported(DType dtype) {
  switch (dtype) {
    case DType::kInt8:
    case DType::kUInt8:
    case DType::kInt16:
    case DType::kInt32:
    case DType::kInt64:
    case DType::kFloat16:
    case DType::kBFloat16:
    case DType::kFloat32:
    case DType::kFloat64:
      return true;
    default:
      return false;
  }
}

void run(const Problem& problem, DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
    case DType::kBFloat16:
    case DType::kFloat32:
    case DType::kFloat64:
      if (gemm::blasAccepts(problem, dtype)) {
        gemm::runBlas(problem, dtype);
      } else {
        gemm::runPacked(problem, dtype);
      }
      return;
    default:
      gemm::runInteger(problem, dtype);
  }
}

// Translates the addresses and enqueues one batch.
Status enqueue(const Queue& queue, Problem problem, DType dtype) {
  const int64_t rows = problem.rows;
  const int64_t columns = problem.columns;
  if (problem.batch == 0 || rows == 0 || columns == 0) return Status::kOk;
  const auto translate = [&](const void* data, const gemm::Strides& s,
                             int64_t r, int64_t c) {
    const bool empty = problem.batch * r * c == 0;
    const int64_t last = empty ? -1
                               : (problem.batch - 1) * s.batch +
                                     (r - 1) * s.row + (c - 1) * s.column;
    return queue.translate(
        data, static_cast<std::size_t>(last + 1) * gemm::itemSize(dtype));
  };
  problem.a = translate(problem.a, problem.a_strides, rows, problem.depth);
  problem.b = translate(problem.b, problem.b_strides, problem.depth, columns);
  problem.c = translate(problem.c, problem.c_strides, rows, columns);
  if (problem.beta != 0.0) {
    problem.d = translate(problem.d, problem.d_strides, rows, columns);
    if (problem.d == nullptr) return Status::kFailed;
  }
  if (problem.c == nullptr || problem.a == nullptr || problem.b == nullptr) {
    return Status::kFailed;
  }
  const bool sent = queue.launch([problem, dtype] { run(problem, dtype); });
  return sent ? Status::kOk : Status::kFailed;
}

// out = beta * input + alpha * (a @ b); input may be nullptr with beta 0.
Status multiply(const Queue& queue, const Matrices& out, const Matrices* input,
                const Matrices& a, const Matrices& b, double alpha, double beta,
                DType dtype) {
  if (!supported(dtype)) return Status::kUnsupported;
  if (a.rows() != out.rows() || b.columns() != out.columns() ||
      a.columns() != b.rows()) {
    return Status::kInvalid;
  }
  Problem problem{};
  problem.rows = out.rows();
  problem.columns = out.columns();
  problem.depth = a.columns();
  problem.alpha = alpha;
  problem.beta = input == nullptr ? 0.0 : beta;
  gemm::BatchLoop loop(out, input, a, b);
  if (!loop.valid()) return Status::kInvalid;
  Status status = Status::kOk;
  while (status == Status::kOk && loop.next(&problem)) {
    status = enqueue(queue, problem, dtype);
  }
  return status;
}

bool sameType(const TensorView& out, const TensorView& a, const TensorView& b) {
  return out.dtype == a.dtype && out.dtype == b.dtype;
}

}  // namespace

Status matmul(const Queue& queue, const TensorView& out, const TensorView& a,
              const TensorView& b) {
  if (a.ndim == 0 || b.ndim == 0 || !sameType(out, a, b)) {
    return Status::kInvalid;
  }
  Matrices result = Matrices::of(out);
  if (a.ndim == 1 && b.ndim == 1) result = Matrices::scalar(out);
  if (a.ndim == 1 && b.ndim > 1) result = Matrices::rowOf(out);
  if (b.ndim == 1 && a.ndim > 1) result = Matrices::columnOf(out);
  const Matrices left = a.ndim == 1 ? Matrices::rowOf(a) : Matrices::of(a);
  const Matrices right = b.ndim == 1 ? Matrices::columnOf(b) : Matrices::of(b);
  return multiply(queue, result, nullptr, left, right, 1.0, 0.0, out.dtype);
}

Status addmm(const Queue& queue, const TensorView& out, const TensorView& input,
             const TensorView& a, const TensorView& b, double alpha,
             double beta) {
  if (a.ndim < 2 || b.ndim != a.ndim || out.ndim != a.ndim ||
      input.ndim > out.ndim || !sameType(out, a, b) ||
      input.dtype != out.dtype) {
    return Status::kInvalid;
  }
  const Matrices result = Matrices::of(out);
  const Matrices added = Matrices::broadcast(input, result);
  return multiply(queue, result, &added, Matrices::of(a), Matrices::of(b),
                  alpha, beta, out.dtype);
}

Status linear(const Queue& queue, const TensorView& out,
              const TensorView& input, const TensorView& weight,
              const TensorView* bias) {
  if (input.ndim == 0 || weight.ndim != 2 || out.ndim != input.ndim ||
      !sameType(out, input, weight) ||
      (bias != nullptr && bias->dtype != out.dtype)) {
    return Status::kInvalid;
  }
  const Matrices result =
      out.ndim == 1 ? Matrices::rowOf(out) : Matrices::of(out);
  const Matrices left =
      input.ndim == 1 ? Matrices::rowOf(input) : Matrices::of(input);
  const Matrices right = Matrices::of(weight).transposed();
  if (bias == nullptr) {
    return multiply(queue, result, nullptr, left, right, 1.0, 0.0, out.dtype);
  }
  const Matrices added = Matrices::broadcast(*bias, result);
  return multiply(queue, result, &added, left, right, 1.0, 1.0, out.dtype);
}

}  // namespace dipu::kernels
