// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/gemm/one_thread.h"
#include "kernels/compute/linalg/batch.h"
#include "kernels/compute/linalg/lapack.h"
#include "kernels/compute/linalg/linalg.h"
#include "kernels/compute/worker_buffer.h"

namespace dipu::kernels {
namespace linalg {
namespace {

template <typename T>
struct QrTask {
  const T* input;
  T* q;  // nullptr: not wanted
  T* r;
  T* columns;         // room for each matrix, or its q, column after column
  Batch batch;        // of the input
  int64_t q_columns;  // rows of r

  void run() const {
    gemm::useOneThread();
    const int64_t work = batch.rows * batch.rows * batch.columns * 2 + 1;
    forEachMatrix(batch.count, work, [this](int64_t i) { factorize(i); });
  }

  void factorize(int64_t i) const {
    constexpr int64_t kBlock = 64;  // columns that LAPACK takes at a time
    const int64_t m = batch.rows;
    const int64_t n = batch.columns;
    const int64_t k = std::min(m, n);
    const int64_t widest = std::max(n, q_columns);
    T* a = columns + i * m * widest;
    T* tau = workerBuffer<kReduceSlot>().get<T>(k + kBlock * widest);
    T* space = tau + k;
    transpose(input + i * m * n, m, n, a);
    const auto rows = static_cast<int>(m);
    const auto size = static_cast<int>(kBlock * widest);
    int info = lapack::geqrf(rows, static_cast<int>(n), a, tau, space, size);
    storeTriangle(a, r + i * q_columns * n);
    if (q != nullptr && info == 0 && q_columns > 0) {
      info = lapack::orgqr(rows, static_cast<int>(q_columns),
                           static_cast<int>(k), a, tau, space, size);
      transpose(a, q_columns, m, q + i * m * q_columns);
    }
    if (info != 0) failTask(SOFT_LAUNCH_FAILURE, "an argument is invalid");
  }

  // The upper triangle of columns of length m as rows.
  void storeTriangle(const T* a, T* to) const {
    const int64_t n = batch.columns;
    for (int64_t row = 0; row < q_columns; ++row) {
      for (int64_t column = 0; column < n; ++column) {
        to[row * n + column] =
            column < row ? T(0) : a[column * batch.rows + row];
      }
    }
  }

  // Rows become columns.
  static void transpose(const T* from, int64_t rows, int64_t columns, T* to) {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        to[j * rows + i] = from[i * columns + j];
      }
    }
  }
};

Status checkQr(const TensorView& q, const TensorView& r,
               const TensorView& input, int64_t* q_columns) {
  const Status status = checkMatrices("qr", input);
  if (status != Status::kOk) return status;
  const Batch batch = batchOf(input);
  const int64_t k = std::min(batch.rows, batch.columns);
  const int32_t last = input.ndim - 1;
  if (sameBatch(r, input) && r.sizes[last] == batch.columns &&
      (r.sizes[last - 1] == k || r.sizes[last - 1] == batch.rows)) {
    *q_columns = r.sizes[last - 1];
    const bool fits = !q.defined() ||
                      (sameBatch(q, input) && q.sizes[last - 1] == batch.rows &&
                       q.sizes[last] == *q_columns);
    if (fits) return Status::kOk;
  }
  return fail(Status::kInvalid,
              "qr: q and r have other sizes or dtypes than a factorization of "
              "%ldx%ld",
              long(batch.rows), long(batch.columns));
}

}  // namespace
}  // namespace linalg

Status qr(const Queue& queue, const TensorView& q, const TensorView& r,
          const TensorView& input) {
  using namespace linalg;  // NOLINT(build/namespaces)
  int64_t columns = 0;
  Status status = checkQr(q, r, input, &columns);
  if (status != Status::kOk) return status;
  const bool wanted = q.defined() && q.numel > 0;
  if (!wanted && r.numel == 0) return Status::kOk;
  DenseTensor a(queue, input, Order::kRowMajor);
  DenseTensor to_q(queue, wanted ? q : TensorView(), Order::kRowMajor);
  DenseTensor to_r(queue, r, Order::kRowMajor);
  if (!a.load() || !to_q.open() || !to_r.open()) return Status::kFailed;
  const Batch batch = batchOf(input);
  void* turned = scratchAddress(
      queue, batch.count * batch.rows * std::max(batch.columns, columns) *
                 static_cast<int64_t>(itemSize(input.dtype)));
  if (turned == nullptr) return Status::kFailed;
  status = launchReal(queue, input.dtype,
                      [batch, columns, turned, a = a.address(),
                       q = to_q.address(), r = to_r.address()](auto tag) {
                        using T = typename decltype(tag)::type;
                        QrTask<T>{static_cast<const T*>(a),
                                  static_cast<T*>(q),
                                  static_cast<T*>(r),
                                  static_cast<T*>(turned),
                                  batch,
                                  columns}
                            .run();
                      });
  return status == Status::kOk ? storeAll({&to_q, &to_r}) : status;
}

}  // namespace dipu::kernels
