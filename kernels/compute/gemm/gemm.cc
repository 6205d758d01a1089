// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/gemm/gemm.h"

#include <algorithm>

#include "kernels/compute/dtype.h"
#include "kernels/compute/gemm/problem.h"
#include "kernels/compute/gemm/shape.h"
#include "kernels/compute/status.h"

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

// What the stream's worker does.
struct Run {
  Problem problem;
  DType dtype;

  void operator()() const { gemm::run(problem, dtype); }
};

// Translates the addresses of run->problem and enqueues it.
Status enqueue(const Queue& queue, Run* run) {
  Problem& problem = run->problem;
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
        data, static_cast<std::size_t>(last + 1) * itemSize(run->dtype));
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
  return queue.launch(*run) ? Status::kOk : Status::kFailed;
}

// out = beta * input + alpha * (a @ b); input may be nullptr with beta 0.
Status multiply(const Queue& queue, const Matrices& out, const Matrices* input,
                const Matrices& a, const Matrices& b, double alpha, double beta,
                DType dtype) {
  if (!supported(dtype)) return unsupportedDType("matmul", dtype);
  if (a.rows() != out.rows() || b.columns() != out.columns() ||
      a.columns() != b.rows()) {
    return fail(Status::kInvalid,
                "matrix product of %ldx%ld and %ldx%ld does not give %ldx%ld",
                long(a.rows()), long(a.columns()), long(b.rows()),
                long(b.columns()), long(out.rows()), long(out.columns()));
  }
  if (out.empty()) return Status::kOk;
  Run run;
  run.dtype = dtype;
  run.problem.columns = out.columns();
  run.problem.depth = a.columns();
  run.problem.alpha = alpha;
  run.problem.beta = input == nullptr ? 0.0 : beta;
  if (gemm::setSingle(out, input, a, b, &run.problem)) {
    return enqueue(queue, &run);
  }
  gemm::BatchLoop loop(out, input, a, b, itemSize(dtype));
  if (!loop.valid()) {
    return fail(Status::kInvalid, "batches of the matrices do not broadcast");
  }
  Status status = Status::kOk;
  while (status == Status::kOk && loop.next(&run.problem)) {
    status = enqueue(queue, &run);
  }
  return status;
}

bool sameType(const TensorView& out, const TensorView& a, const TensorView& b) {
  return out.dtype == a.dtype && out.dtype == b.dtype;
}

}  // namespace

Status matmul(const Queue& queue, const TensorView& out, const TensorView& a,
              const TensorView& b) {
  // A vector operand adds a dimension for the product; the result loses it.
  const int vectors = (a.ndim == 1) + (b.ndim == 1);
  if (!sameType(out, a, b)) {
    return fail(Status::kInvalid,
                "matmul: operands and result must have one dtype; convert the "
                "operands to that of the result first");
  }
  if (a.ndim < 1 || b.ndim < 1 ||
      out.ndim != std::max({a.ndim, b.ndim, 2}) - vectors) {
    return fail(Status::kInvalid,
                "matmul: operands with %d and %d dimensions, out with %d",
                a.ndim, b.ndim, out.ndim);
  }
  const Matrices left = a.ndim == 1 ? Matrices::rowOf(a) : Matrices::of(a);
  const Matrices right = b.ndim == 1 ? Matrices::columnOf(b) : Matrices::of(b);
  const Matrices result = vectors == 2  ? Matrices::scalar(out)
                          : a.ndim == 1 ? Matrices::rowOf(out)
                          : b.ndim == 1 ? Matrices::columnOf(out)
                                        : Matrices::of(out);
  return multiply(queue, result, nullptr, left, right, 1.0, 0.0, out.dtype);
}

Status addmm(const Queue& queue, const TensorView& out, const TensorView& input,
             const TensorView& a, const TensorView& b, double alpha,
             double beta) {
  if (a.ndim < 2 || b.ndim != a.ndim || out.ndim != a.ndim ||
      input.ndim > out.ndim || !sameType(out, a, b) ||
      input.dtype != out.dtype) {
    return fail(Status::kInvalid,
                "addmm: operands differ in dtype or number of dimensions");
  }
  const Matrices result = Matrices::of(out);
  Matrices added = Matrices::addendOf(input);
  if (!added.expandTo(result)) {
    return fail(Status::kInvalid, "addmm: input does not broadcast to out");
  }
  return multiply(queue, result, &added, Matrices::of(a), Matrices::of(b),
                  alpha, beta, out.dtype);
}

Status linear(const Queue& queue, const TensorView& out,
              const TensorView& input, const TensorView& weight,
              const TensorView& bias) {
  if (input.ndim == 0 || weight.ndim != 2 || out.ndim != input.ndim ||
      !sameType(out, input, weight) ||
      (bias.defined() && bias.dtype != out.dtype)) {
    return fail(Status::kInvalid,
                "linear: operands differ in dtype or number of dimensions");
  }
  const Matrices result =
      out.ndim == 1 ? Matrices::rowOf(out) : Matrices::of(out);
  const Matrices left =
      input.ndim == 1 ? Matrices::rowOf(input) : Matrices::of(input);
  const Matrices right = Matrices::of(weight).transposed();
  if (!bias.defined()) {
    return multiply(queue, result, nullptr, left, right, 1.0, 0.0, out.dtype);
  }
  Matrices added = Matrices::addendOf(bias);
  if (!added.expandTo(result)) {
    return fail(Status::kInvalid, "linear: bias does not broadcast to out");
  }
  return multiply(queue, result, &added, left, right, 1.0, 1.0, out.dtype);
}

}  // namespace dipu::kernels
