// SPDX-License-Identifier: Apache-2.0
#include <c10/util/Exception.h>

#include "diopi_adapter/runtime/shape.h"

namespace dipu::adapter::shape {
namespace {

void checkTypes(const at::Tensor& a, const at::Tensor& b) {
  TORCH_CHECK(a.scalar_type() == b.scalar_type(),
              "expected both operands to have the same dtype, but got ",
              a.scalar_type(), " and ", b.scalar_type());
}

}  // namespace

OutputSpec batchSum(const at::Tensor& input, const at::Tensor& batch1,
                    const at::Tensor& batch2) {
  TORCH_CHECK(batch1.dim() == 3 && batch2.dim() == 3,
              "expected two batches of matrices, but got ", batch1.sizes(),
              " and ", batch2.sizes());
  TORCH_CHECK(
      batch1.size(0) == batch2.size(0) && batch1.size(2) == batch2.size(1),
      "batches of matrices ", batch1.sizes(), " and ", batch2.sizes(),
      " cannot be multiplied");
  checkTypes(batch1, batch2);
  checkTypes(input, batch1);
  return {{batch1.size(1), batch2.size(2)}, {}, batch1.scalar_type()};
}

OutputSpec dotProduct(const at::Tensor& a, const at::Tensor& b) {
  TORCH_CHECK(a.dim() == 1 && b.dim() == 1, "1D tensors expected, but got ",
              a.dim(), "D and ", b.dim(), "D tensors");
  TORCH_CHECK(
      a.numel() == b.numel(),
      "inconsistent tensor size, expected tensors of one size, but got ",
      a.numel(), " and ", b.numel(), " elements");
  checkTypes(a, b);
  return scalar(a);
}

OutputSpec int8Product(const at::Tensor& a, const at::Tensor& b) {
  TORCH_CHECK(a.dim() == 2 && b.dim() == 2 && a.size(1) == b.size(0),
              "matrices ", a.sizes(), " and ", b.sizes(),
              " cannot be multiplied");
  TORCH_CHECK(a.scalar_type() == at::kChar && b.scalar_type() == at::kChar,
              "expected int8 operands, but got ", a.scalar_type(), " and ",
              b.scalar_type());
  return {{a.size(0), b.size(1)}, {}, at::kInt};
}

OutputSpec matrix(int64_t rows, int64_t columns, const at::Tensor& out) {
  TORCH_CHECK(rows >= 0, "n must be greater or equal to 0, got ", rows);
  TORCH_CHECK(columns >= 0, "m must be greater or equal to 0, got ", columns);
  return {{rows, columns}, {}, out.scalar_type()};
}

}  // namespace dipu::adapter::shape
