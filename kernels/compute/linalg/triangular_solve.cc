// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/gemm/gemm.h"
#include "kernels/compute/gemm/one_thread.h"
#include "kernels/compute/linalg/batch.h"
#include "kernels/compute/linalg/lapack.h"
#include "kernels/compute/linalg/linalg.h"

namespace dipu::kernels {
namespace linalg {
namespace {

template <typename T>
struct SolveTask {
  T* x;  // in: b
  const T* matrix;
  Batch batch;  // of x
  TriangleOptions options;

  void run() const {
    gemm::useOneThread();
    const int64_t n = batch.rows;
    const int64_t k = batch.columns;
    forEachMatrix(batch.count, n * n * k / 2 + 1, [=](int64_t i) {
      lapack::trsm({true, options.upper, options.transpose, options.unit},
                   static_cast<int>(n), static_cast<int>(k), matrix + i * n * n,
                   x + i * n * k);
    });
  }
};

// Negates what the matrix has, and clears what it has not.
template <typename T>
struct KeepTriangleTask {
  T* gradient;
  Batch batch;
  TriangleOptions options;

  void run() const {
    const int64_t n = batch.rows;
    parallelFor(batch.count * n, grainFor(n), [&](int64_t begin, int64_t end) {
      for (int64_t line = begin; line < end; ++line) {
        const int64_t row = line % n;
        T* g = gradient + line * n;
        for (int64_t column = 0; column < n; ++column) {
          const bool kept =
              column == row ? !options.unit : options.upper == (column > row);
          g[column] = kept ? -g[column] : T(0);
        }
      }
    });
  }
};

Status checkSolve(const TensorView& x, const TensorView& b,
                  const TensorView& matrix) {
  Status status = checkMatrices("triangular_solve", matrix);
  if (status == Status::kOk) status = checkMatrices("triangular_solve", b);
  if (status != Status::kOk) return status;
  const int64_t n = matrix.sizes[matrix.ndim - 1];
  if (!sameShape(x, b) || matrix.sizes[matrix.ndim - 2] != n ||
      b.sizes[b.ndim - 2] != n || matrix.dtype != b.dtype) {
    return fail(Status::kInvalid,
                "triangular_solve: the sizes or dtypes do not fit");
  }
  if (sameBatch(b, matrix)) return Status::kOk;
  return fail(Status::kUnsupported, "triangular_solve of batches that differ");
}

}  // namespace
}  // namespace linalg

Status triangularSolve(const Queue& queue, const TensorView& out,
                       const TensorView& b, const TensorView& matrix,
                       const TriangleOptions& options) {
  using namespace linalg;  // NOLINT(build/namespaces)
  Status status = checkSolve(out, b, matrix);
  if (status != Status::kOk || out.numel == 0) return status;
  DenseTensor x(queue, out, Order::kRowMajor);
  DenseTensor a(queue, matrix, Order::kRowMajor);
  if (!x.open() || !a.load()) return Status::kFailed;
  status = convertTensor(queue, x.view(), b);
  if (status != Status::kOk) return status;
  status = launchReal(queue, b.dtype,
                      [batch = batchOf(b), options, x = x.address(),
                       a = a.address()](auto tag) {
                        using T = typename decltype(tag)::type;
                        SolveTask<T>{static_cast<T*>(x),
                                     static_cast<const T*>(a), batch, options}
                            .run();
                      });
  return status == Status::kOk ? x.store() : status;
}

Status triangularSolveBackward(const Queue& queue, const TensorView& grad_b,
                               const TensorView& grad_matrix,
                               const TensorView& grad, const TensorView& x,
                               const TensorView& matrix,
                               const TriangleOptions& options) {
  using namespace linalg;  // NOLINT(build/namespaces)
  Status status = checkSolve(x, grad, matrix);
  if (status != Status::kOk) return status;
  if (grad_matrix.defined() && !sameShape(grad_matrix, matrix)) {
    return fail(Status::kInvalid,
                "triangular_solve_backward: a gradient differs");
  }
  const ScratchTensor own(queue, grad, grad.dtype);
  if (!own.valid()) return Status::kFailed;
  const TensorView& slope = grad_b.defined() ? grad_b : own.view();
  status = triangularSolve(queue, slope, grad, matrix,
                           {options.upper, !options.transpose, options.unit});
  if (status != Status::kOk || !grad_matrix.defined()) return status;
  if (grad_matrix.numel == 0) return Status::kOk;
  // -g x^T, or -x g^T for the transpose.
  const TensorView& left = options.transpose ? x : slope;
  const Turned right(options.transpose ? slope : x, true);
  DenseTensor dm(queue, grad_matrix, Order::kRowMajor);
  if (!dm.open()) return Status::kFailed;
  status = matmul(queue, dm.view(), left, right.view);
  if (status != Status::kOk) return status;
  status = launchReal(
      queue, matrix.dtype,
      [batch = batchOf(matrix), options, dm = dm.address()](auto tag) {
        using T = typename decltype(tag)::type;
        KeepTriangleTask<T>{static_cast<T*>(dm), batch, options}.run();
      });
  return status == Status::kOk ? dm.store() : status;
}

}  // namespace dipu::kernels
