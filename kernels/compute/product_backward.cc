// SPDX-License-Identifier: Apache-2.0
#include "kernels/compute/product_backward.h"

#include <algorithm>

#include "kernels/compute/gemm/gemm.h"
#include "kernels/compute/operands.h"
#include "kernels/compute/reduce.h"
#include "kernels/compute/shaped_view.h"

namespace dipu::kernels {
namespace {

// A batch of matrices with `ndim` dimensions, missing ones of size 1 in front.
// A vector becomes a row or a column, and a result lacks what its vectors had.
struct Matrices : ShapedView {
  Matrices(const TensorView& tensor, int32_t ndim, bool row, bool column)
      : ShapedView(tensor) {
    const int32_t added = (row ? 1 : 0) + (column ? 1 : 0);
    for (int32_t d = tensor.ndim + added; d < ndim; ++d) append(1, 0);
    const int32_t batch = std::max(0, tensor.ndim + added - 2);
    for (int32_t d = 0; d < batch; ++d) copy(tensor, d);
    if (row) append(1, 0);
    for (int32_t d = batch; d < tensor.ndim; ++d) copy(tensor, d);
    if (column) append(1, 0);
  }

  int64_t rows() const { return sizes[view.ndim - 2]; }
  int64_t columns() const { return sizes[view.ndim - 1]; }

  // The same matrices, transposed.
  void transpose() {
    std::swap(sizes[view.ndim - 1], sizes[view.ndim - 2]);
    std::swap(strides[view.ndim - 1], strides[view.ndim - 2]);
  }

 private:
  void copy(const TensorView& tensor, int32_t d) {
    append(tensor.sizes[d], tensor.strides[d]);
  }
};

// out = left @ right, summed over the batches along which `out` repeats.
Status multiplyAndSum(const Queue& queue, const TensorView& out,
                      const TensorView& left, const TensorView& right) {
  int64_t sizes[kMaxDims];
  int64_t dims[kMaxDims];
  int64_t count = 0;
  const int32_t batch = out.ndim - 2;
  TensorView full = out;
  full.sizes = sizes;
  full.numel = 1;
  for (int32_t d = 0; d < out.ndim; ++d) {
    sizes[d] =
        d < batch ? std::max(left.sizes[d], right.sizes[d]) : out.sizes[d];
    if (d < batch && (left.sizes[d] == 0 || right.sizes[d] == 0)) sizes[d] = 0;
    if (sizes[d] != out.sizes[d]) dims[count++] = d;
    full.numel *= sizes[d];
  }
  if (count == 0) return matmul(queue, out, left, right);
  const ScratchTensor product(queue, full, out.dtype);
  if (!product.valid()) return Status::kFailed;
  const Status status = matmul(queue, product.view(), left, right);
  if (status != Status::kOk) return status;
  return sum(queue, out, product.view(), Dims{dims, count});
}

Status checkFloating(const char* name, const TensorView& grad,
                     const TensorView& a, const TensorView& b) {
  if (!isFloating(grad.dtype)) return unsupportedDType(name, grad.dtype);
  if (a.dtype == grad.dtype && b.dtype == grad.dtype) return Status::kOk;
  return fail(Status::kInvalid, "%s: operands differ in dtype", name);
}

// Whether an optional gradient has the shape of what it belongs to.
bool fits(const TensorView& gradient, const TensorView& of) {
  return !gradient.defined() || sameShape(gradient, of);
}

// A tensor of rows as a matrix.
struct RowsView : ShapedView {
  explicit RowsView(const TensorView& dense) : ShapedView(dense) {
    const int64_t width = dense.ndim == 0 ? 1 : dense.sizes[dense.ndim - 1];
    int64_t rows = 1;
    for (int32_t d = 0; d + 1 < dense.ndim; ++d) rows *= dense.sizes[d];
    append(rows, width).append(width, 1);
  }
};

}  // namespace

Status matmulBackward(const Queue& queue, const TensorView& grad_a,
                      const TensorView& grad_b, const TensorView& grad,
                      const TensorView& a, const TensorView& b) {
  Status status = checkFloating("matmul_backward", grad, a, b);
  if (status != Status::kOk) return status;
  const bool row = a.ndim == 1;
  const bool column = b.ndim == 1;
  const int32_t ndim = std::max({a.ndim, b.ndim, 2});
  if (a.ndim < 1 || b.ndim < 1 || ndim > kMaxDims ||
      grad.ndim != ndim - (row ? 1 : 0) - (column ? 1 : 0) ||
      !fits(grad_a, a) || !fits(grad_b, b)) {
    return fail(Status::kInvalid,
                "matmul_backward: the gradients have other shapes than their "
                "operands");
  }
  Matrices left(a, ndim, row, false);
  Matrices right(b, ndim, false, column);
  const Matrices result(grad, ndim, row, column);
  if (left.rows() != result.rows() || right.columns() != result.columns() ||
      left.columns() != right.rows()) {
    return fail(Status::kInvalid, "matmul_backward: the sizes do not fit");
  }
  left.transpose();
  right.transpose();
  if (grad_a.defined()) {
    const Matrices to(grad_a, ndim, row, false);
    status = multiplyAndSum(queue, to.view, result.view, right.view);
  }
  if (status == Status::kOk && grad_b.defined()) {
    const Matrices to(grad_b, ndim, false, column);
    status = multiplyAndSum(queue, to.view, left.view, result.view);
  }
  return status;
}

Status linearBackward(const Queue& queue, const TensorView& grad_input,
                      const TensorView& grad_weight,
                      const TensorView& grad_bias, const TensorView& grad,
                      const TensorView& input, const TensorView& weight) {
  Status status = checkFloating("linear_backward", grad, input, weight);
  if (status != Status::kOk) return status;
  const bool shaped = input.ndim >= 1 && weight.ndim == 2 &&
                      grad.ndim == input.ndim && fits(grad_input, input) &&
                      fits(grad_weight, weight);
  if (!shaped || grad.sizes[grad.ndim - 1] != weight.sizes[0] ||
      input.sizes[input.ndim - 1] != weight.sizes[1] ||
      !std::equal(grad.sizes, grad.sizes + grad.ndim - 1, input.sizes) ||
      (grad_bias.defined() && grad_bias.numel != weight.sizes[0])) {
    return fail(Status::kInvalid, "linear_backward: the sizes do not fit");
  }
  if (grad_input.defined()) {
    status = matmul(queue, grad_input, grad, weight);
    if (status != Status::kOk) return status;
  }
  DenseTensor g(queue, grad, Order::kRowMajor);
  DenseTensor x(queue, input, Order::kRowMajor);
  if (!g.load() || !x.load()) return Status::kFailed;
  const RowsView rows(g.view());
  const RowsView inputs(x.view());
  if (grad_weight.defined()) {
    ShapedView turned(rows.view);
    turned.append(rows.sizes[1], 1).append(rows.sizes[0], rows.sizes[1]);
    status = matmul(queue, grad_weight, turned.view, inputs.view);
    if (status != Status::kOk) return status;
  }
  if (!grad_bias.defined()) return Status::kOk;
  const int64_t first = 0;
  return sum(queue, grad_bias, rows.view, Dims{&first, 1});
}

}  // namespace dipu::kernels
