// SPDX-License-Identifier: Apache-2.0
//
// Outputs that follow from rows: of losses, bags, points and places.
#include <ATen/ExpandUtils.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/core/Reduction.h>
#include <c10/util/Exception.h>

#include "diopi_adapter/runtime/shape.h"

namespace dipu::adapter::shape {
namespace {

constexpr int64_t kMaximumMode = 2;

int64_t bagCount(const at::Tensor& offsets, bool include_last_offset) {
  TORCH_CHECK(offsets.dim() == 1, "offsets has to be a 1D Tensor, but got ",
              offsets.dim(), "D");
  TORCH_CHECK(!include_last_offset || offsets.size(0) >= 1,
              "include_last_offset: number of offset should be at least 1");
  return offsets.size(0) - (include_last_offset ? 1 : 0);
}

void checkPoints(const at::Tensor& points) {
  TORCH_CHECK(points.dim() >= 2, "cdist only supports at least 2D tensors, ",
              "but got ", points.dim(), "D");
}

// The dimensions before the last two, broadcast.
at::DimVector batchOf(const at::Tensor& x1, const at::Tensor& x2) {
  checkPoints(x1);
  checkPoints(x2);
  TORCH_CHECK(x1.size(-1) == x2.size(-1),
              "X1 and X2 must have the same number of columns. X1: ",
              x1.size(-1), " X2: ", x2.size(-1));
  return at::infer_size_dimvector(x1.sizes().slice(0, x1.dim() - 2),
                                  x2.sizes().slice(0, x2.dim() - 2));
}

}  // namespace

OutputSpec halved(const at::Tensor& tensor, int64_t dim) {
  TORCH_CHECK(tensor.dim() > 0, "glu does not support 0-dimensional tensors");
  OutputSpec spec = packed(tensor);
  const int64_t wrapped = at::maybe_wrap_dim(dim, tensor.dim());
  const int64_t size = tensor.size(wrapped);
  TORCH_CHECK(size % 2 == 0, "Halving dimension must be even, but dimension ",
              wrapped, " is size ", size);
  spec.sizes[wrapped] = size / 2;
  return spec;
}

OutputSpec perElement(const at::Tensor& tensor, const at::Tensor& index) {
  return {at::DimVector(index.sizes()), {}, tensor.scalar_type()};
}

OutputSpec reducedRows(const at::Tensor& input, int64_t reduction) {
  OutputSpec spec = scalar(input);
  if (reduction == at::Reduction::None && input.dim() > 1) {
    spec.sizes.push_back(input.size(0));
  }
  return spec;
}

OutputSpec bags(const at::Tensor& weight, const at::Tensor& offsets,
                bool include_last_offset) {
  TORCH_CHECK(weight.dim() == 2, "weight has to be a 2D Tensor, but got ",
              weight.dim(), "D");
  return {{bagCount(offsets, include_last_offset), weight.size(1)},
          {},
          weight.scalar_type()};
}

OutputSpec bagSizes(const at::Tensor& offsets, bool include_last_offset) {
  return {{bagCount(offsets, include_last_offset)}, {}, offsets.scalar_type()};
}

OutputSpec bagMaxima(const at::Tensor& weight, const at::Tensor& offsets,
                     bool include_last_offset, int64_t mode) {
  OutputSpec spec = bags(weight, offsets, include_last_offset);
  if (mode != kMaximumMode) spec.sizes = {0};
  spec.dtype = offsets.scalar_type();
  return spec;
}

OutputSpec distances(const at::Tensor& x1, const at::Tensor& x2) {
  OutputSpec spec{batchOf(x1, x2), {}, x1.scalar_type()};
  spec.sizes.push_back(x1.size(-2));
  spec.sizes.push_back(x2.size(-2));
  return spec;
}

OutputSpec distancesGrad(const at::Tensor& x1, const at::Tensor& x2) {
  OutputSpec spec{batchOf(x1, x2), {}, x1.scalar_type()};
  spec.sizes.push_back(x1.size(-2));
  spec.sizes.push_back(x1.size(-1));
  return spec;
}

OutputSpec pairs(const at::Tensor& points) {
  TORCH_CHECK(points.dim() == 2,
              "pdist only supports 2D tensors, got: ", points.dim(), "D");
  const int64_t rows = points.size(0);
  return {{rows * (rows - 1) / 2}, {}, points.scalar_type()};
}

OutputSpec gridSampled(const at::Tensor& input, const at::Tensor& grid) {
  TORCH_CHECK(
      input.dim() == grid.dim() && input.dim() >= 4 &&
          input.size(0) == grid.size(0) && grid.size(-1) == input.dim() - 2,
      "grid_sampler(): expected a grid of size [N, ..., ", input.dim() - 2,
      "] for an input of sizes ", input.sizes(), ", but got ", grid.sizes());
  TORCH_CHECK(input.scalar_type() == grid.scalar_type(),
              "grid_sampler(): expected input and grid of one type, but got ",
              input.scalar_type(), " and ", grid.scalar_type());
  OutputSpec spec = packed(input);
  for (int64_t d = 2; d < input.dim(); ++d) {
    TORCH_CHECK(input.size(d) > 0,
                "grid_sampler(): expected an input without empty dimensions, "
                "but got ",
                input.sizes());
    spec.sizes[d] = grid.size(d - 1);
  }
  return spec;
}

}  // namespace dipu::adapter::shape
