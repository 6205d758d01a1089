// SPDX-License-Identifier: Apache-2.0
//
// DIOPI's linear algebra.
#include "kernels/compute/linalg/linalg.h"

#include <diopi/functions.h>

#include <cstring>

#include "kernels/compute/binary.h"
#include "kernels/compute/elementwise.h"
#include "kernels/diopi/tensor_args.h"

using namespace dipu::kernels;         // NOLINT(build/namespaces)
using namespace dipu::kernels::diopi;  // NOLINT(build/namespaces)

extern "C" {

diopiError_t diopiCholesky(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                           diopiTensorHandle_t info,
                           diopiConstTensorHandle_t mat, bool upper,
                           bool checkerror) {
  return done(cholesky(queueOf(ctx), view(out), view(info), view(mat), upper,
                       checkerror));
}

diopiError_t diopiCholeskyBackward(diopiContextHandle_t ctx,
                                   diopiTensorHandle_t grad_mat,
                                   diopiConstTensorHandle_t grad_output,
                                   diopiConstTensorHandle_t L, bool upper) {
  return done(choleskyBackward(queueOf(ctx), view(grad_mat), view(grad_output),
                               view(L), upper));
}

// cloned_mat, if wanted, becomes a copy of the matrix.
diopiError_t diopiTriangularSolve(diopiContextHandle_t ctx,
                                  diopiTensorHandle_t out,
                                  diopiTensorHandle_t cloned_mat,
                                  diopiConstTensorHandle_t b,
                                  diopiConstTensorHandle_t mat, bool upper,
                                  bool transpose, bool unitriangular) {
  const Queue queue = queueOf(ctx);
  const Status status = triangularSolve(queue, view(out), view(b), view(mat),
                                        {upper, transpose, unitriangular});
  if (status != Status::kOk || cloned_mat == nullptr) return done(status);
  return done(convertTensor(queue, view(cloned_mat), view(mat)));
}

// The gradient of the copy of the matrix, if given, is added to the matrix's.
diopiError_t diopiTriangularSolveBackward(
    diopiContextHandle_t ctx, diopiTensorHandle_t grad_b,
    diopiTensorHandle_t grad_mat, diopiConstTensorHandle_t grad_x,
    diopiConstTensorHandle_t grad_cloned_mat, diopiConstTensorHandle_t x,
    diopiConstTensorHandle_t /*b*/, diopiConstTensorHandle_t mat, bool upper,
    bool transpose, bool unitriangular) {
  const Queue queue = queueOf(ctx);
  const TensorView gradient = view(grad_mat);
  const Status status = triangularSolveBackward(
      queue, view(grad_b), gradient, view(grad_x), view(x), view(mat),
      {upper, transpose, unitriangular});
  if (status != Status::kOk || grad_cloned_mat == nullptr ||
      grad_mat == nullptr) {
    return done(status);
  }
  return done(
      add(queue, gradient, gradient, view(grad_cloned_mat), {true, 1, 1.0}));
}

// The sizes of Q and R tell a complete factorization from a reduced one; mode
// "r" leaves Q out.
diopiError_t diopiLinalgQR(diopiContextHandle_t ctx, diopiConstTensorHandle_t A,
                           const char* mode, diopiTensorHandle_t Q,
                           diopiTensorHandle_t R) {
  if (mode == nullptr) mode = "";
  const bool only_r = std::strcmp(mode, "r") == 0;
  if (!only_r && std::strcmp(mode, "reduced") != 0 &&
      std::strcmp(mode, "complete") != 0) {
    return done(fail(Status::kInvalid, "qr has no mode '%s'", mode));
  }
  return done(
      qr(queueOf(ctx), only_r ? TensorView() : view(Q), view(R), view(A)));
}

}  // extern "C"
