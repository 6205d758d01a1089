// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/gemm/gemm.h"
#include "kernels/compute/gemm/one_thread.h"
#include "kernels/compute/linalg/batch.h"
#include "kernels/compute/linalg/lapack.h"
#include "kernels/compute/linalg/linalg.h"
#include "kernels/compute/refusal.h"

namespace dipu::kernels {
namespace linalg {
namespace {

// Factorizes dense matrices in place.
template <typename T>
struct CholeskyTask {
  T* matrices;
  int32_t* info;  // may be nullptr
  Batch batch;
  bool upper;
  bool check;

  void run() const {
    gemm::useOneThread();
    const int64_t n = batch.rows;
    forEachMatrix(batch.count, n * n * n / 3 + 1,
                  [this](int64_t i) { factorize(i); });
  }

  void factorize(int64_t i) const {
    const int64_t n = batch.rows;
    T* a = matrices + i * n * n;
    // Columns of LAPACK are rows here.
    const int failed = lapack::potrf(upper ? 'L' : 'U', static_cast<int>(n), a);
    for (int64_t row = 0; row < n; ++row) {
      T* line = a + row * n;
      std::fill(upper ? line : line + row + 1, upper ? line + row : line + n,
                T(0));
    }
    if (info != nullptr) info[i] = failed;
    if (!check || failed == 0) return;
    refuse(
        "matrix %lld is not positive-definite: the leading minor of order %d "
        "is not positive",
        static_cast<long long>(i), failed);
  }
};

// With phi the lower triangle of L^T G and half of its diagonal, the gradient
// is the symmetric part of inverse(L)^T phi inverse(L).
template <typename T>
struct CholeskyGradientTask {
  T* phi;          // in: L^T G; out: the gradient
  const T* lower;  // L
  Batch batch;

  void run() const {
    gemm::useOneThread();
    const int64_t n = batch.rows;
    forEachMatrix(batch.count, 2 * n * n * n + 1,
                  [this](int64_t i) { differentiate(i); });
  }

  void differentiate(int64_t i) const {
    const int64_t n = batch.rows;
    T* p = phi + i * n * n;
    const T* l = lower + i * n * n;
    for (int64_t row = 0; row < n; ++row) {
      p[row * n + row] *= T(0.5);
      std::fill(p + row * n + row + 1, p + (row + 1) * n, T(0));
    }
    const auto order = static_cast<int>(n);
    lapack::trsm({true, false, true, false}, order, order, l, p);
    lapack::trsm({false, false, false, false}, order, order, l, p);
    for (int64_t row = 0; row < n; ++row) {
      for (int64_t column = 0; column < row; ++column) {
        const T mean = (p[row * n + column] + p[column * n + row]) / T(2);
        p[row * n + column] = mean;
        p[column * n + row] = mean;
      }
    }
  }
};

Status checkSquare(const TensorView& a, const TensorView& b) {
  const Status status = checkMatrices("cholesky", a);
  if (status != Status::kOk) return status;
  if (a.sizes[a.ndim - 1] == a.sizes[a.ndim - 2] && sameShape(a, b)) {
    return Status::kOk;
  }
  return fail(Status::kInvalid,
              "cholesky: matrices are not square, or the result differs");
}

}  // namespace
}  // namespace linalg

Status cholesky(const Queue& queue, const TensorView& out,
                const TensorView& info, const TensorView& input, bool upper,
                bool check) {
  using namespace linalg;  // NOLINT(build/namespaces)
  Status status = checkSquare(input, out);
  if (status != Status::kOk) return status;
  const Batch batch = batchOf(input);
  if (info.defined() && info.numel != batch.count) {
    return fail(Status::kInvalid, "cholesky: info has %ld elements, not %ld",
                long(info.numel), long(batch.count));
  }
  if (batch.count == 0) return Status::kOk;
  DenseTensor y(queue, out, Order::kRowMajor);
  DenseTensor codes(queue, info, Order::kRowMajor, DType::kInt32);
  if (!y.open() || !codes.open()) return Status::kFailed;
  status = convertTensor(queue, y.view(), input);
  if (status != Status::kOk) return status;
  status = launchReal(
      queue, input.dtype,
      [batch, upper, check, y = y.address(),
       codes = codes.address<int32_t>()](auto tag) {
        using T = typename decltype(tag)::type;
        CholeskyTask<T>{static_cast<T*>(y), codes, batch, upper, check}.run();
      });
  return status == Status::kOk ? storeAll({&y, &codes}) : status;
}

Status choleskyBackward(const Queue& queue, const TensorView& grad_input,
                        const TensorView& grad, const TensorView& factor,
                        bool upper) {
  using namespace linalg;  // NOLINT(build/namespaces)
  Status status = checkSquare(factor, grad_input);
  if (status == Status::kOk) status = checkSquare(factor, grad);
  if (status != Status::kOk || factor.numel == 0) return status;
  const Turned lower(factor, upper);
  const Turned turned(factor, !upper);
  const Turned slope(grad, upper);
  DenseTensor l(queue, lower.view, Order::kRowMajor);
  DenseTensor phi(queue, grad_input, Order::kRowMajor);
  if (!l.load() || !phi.open()) return Status::kFailed;
  status = matmul(queue, phi.view(), turned.view, slope.view);
  if (status != Status::kOk) return status;
  status = launchReal(queue, factor.dtype,
                      [batch = batchOf(factor), phi = phi.address(),
                       l = l.address()](auto tag) {
                        using T = typename decltype(tag)::type;
                        CholeskyGradientTask<T>{static_cast<T*>(phi),
                                                static_cast<const T*>(l), batch}
                            .run();
                      });
  return status == Status::kOk ? phi.store() : status;
}

}  // namespace dipu::kernels
