// SPDX-License-Identifier: Apache-2.0
#include <ATen/WrapDimUtils.h>
#include <c10/util/Exception.h>

#include "diopi_adapter/runtime/elementwise.h"
#include "diopi_adapter/runtime/shape.h"

namespace dipu::adapter::shape {

OutputSpec reducedAlong(const at::Tensor& tensor, int64_t dim, bool keepdim) {
  const int64_t wrapped = at::maybe_wrap_dim(dim, tensor.dim());
  OutputSpec spec = scalar(tensor);
  for (int64_t i = 0; i < tensor.dim(); ++i) {
    if (i != wrapped) {
      spec.sizes.push_back(tensor.size(i));
    } else if (keepdim) {
      spec.sizes.push_back(1);
    }
  }
  TORCH_CHECK_INDEX(tensor.dim() == 0 || tensor.size(wrapped) > 0,
                    "Expected reduction dim ", wrapped,
                    " to have non-zero size.");
  return spec;
}

OutputSpec positionsAlong(const at::Tensor& tensor, int64_t dim, bool keepdim) {
  OutputSpec spec = reducedAlong(tensor, dim, keepdim);
  spec.dtype = at::kLong;
  return spec;
}

OutputSpec summed(const at::Tensor& tensor, at::OptionalIntArrayRef dim,
                  bool keepdim, std::optional<at::ScalarType> dtype,
                  const at::Tensor& out) {
  OutputSpec spec = reduced(tensor, dim, keepdim);
  spec.dtype = out.defined() && !dtype.has_value()
                   ? out.scalar_type()
                   : sumType(tensor.scalar_type(), dtype);
  return spec;
}

OutputSpec counted(const at::Tensor& tensor, at::IntArrayRef dim) {
  OutputSpec spec = reduced(tensor, dim, /*keepdim=*/false);
  spec.dtype = at::kLong;
  return spec;
}

OutputSpec binned(const at::Tensor& tensor, int64_t bins) {
  TORCH_CHECK(bins > 0, "bins must be > 0, but got ", bins);
  return {{bins}, {}, tensor.scalar_type()};
}

OutputSpec diagonalSum(const at::Tensor& matrix) {
  TORCH_CHECK(matrix.dim() == 2, "trace: expected a matrix, but got ",
              matrix.sizes());
  return total(matrix, std::nullopt);
}

}  // namespace dipu::adapter::shape
