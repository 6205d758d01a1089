// SPDX-License-Identifier: Apache-2.0
#include <ATen/WrapDimUtils.h>
#include <c10/util/Exception.h>

#include <cmath>

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

OutputSpec kthAlong(const at::Tensor& tensor, int64_t k, int64_t dim,
                    bool keepdim) {
  const int64_t wrapped = at::maybe_wrap_dim(dim, tensor.dim());
  const int64_t size = tensor.dim() == 0 ? 1 : tensor.size(wrapped);
  TORCH_CHECK_INDEX(size > 0, "kthvalue(): Expected reduction dim ", wrapped,
                    " to have non-zero size.");
  TORCH_CHECK(k > 0 && k <= size,
              "kthvalue(): selected number k out of range for dimension ",
              wrapped);
  return reducedAlong(tensor, dim, keepdim);
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

OutputSpec binned(const at::Tensor& tensor, int64_t bins, const at::Scalar& min,
                  const at::Scalar& max) {
  TORCH_CHECK(bins > 0, "bins must be > 0, but got ", bins);
  const double low = min.toDouble();
  const double high = max.toDouble();
  const bool spans_elements = low == high && tensor.numel() > 0;
  TORCH_CHECK(spans_elements || (std::isfinite(low) && std::isfinite(high)),
              "torch.histc: range of [", low, ", ", high, "] is not finite");
  TORCH_CHECK(low <= high, "torch.histc: max must be larger than min");
  return {{bins}, {}, tensor.scalar_type()};
}

OutputSpec diagonalSum(const at::Tensor& matrix) {
  TORCH_CHECK(matrix.dim() == 2, "trace: expected a matrix, but got ",
              matrix.sizes());
  return total(matrix, std::nullopt);
}

}  // namespace dipu::adapter::shape
