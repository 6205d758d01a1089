// SPDX-License-Identifier: Apache-2.0
#include "diopi_adapter/runtime/shape.h"

#include <ATen/AccumulateType.h>
#include <ATen/ExpandUtils.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/WrapDimUtilsMulti.h>
#include <ATen/core/Reduction.h>
#include <c10/util/Exception.h>

#include <cmath>

#include "diopi_adapter/runtime/elementwise.h"

namespace dipu::adapter::shape {
namespace {

at::ScalarType statsType(const at::Tensor& input) {
  const at::ScalarType type = input.scalar_type();
  return type == at::kHalf || type == at::kBFloat16 ? at::kFloat : type;
}

at::ScalarType paramType(const at::Tensor& input,
                         const std::optional<at::Tensor>& weight) {
  return weight.has_value() && weight->defined() ? weight->scalar_type()
                                                 : input.scalar_type();
}

int64_t channels(const at::Tensor& input) {
  TORCH_CHECK(input.dim() >= 2, "expected an input of at least 2 dimensions, ",
              "batch and channels, but got ", input.sizes());
  return input.size(1);
}

// Number of steps, as torch computes it.
template <typename Number>
int64_t steps(Number start, Number end, Number step) {
  TORCH_CHECK(step != 0, "step must be nonzero");
  TORCH_CHECK((step > 0) == (end >= start) || end == start,
              "upper bound and lower bound inconsistent with step sign");
  const double exact =
      std::ceil(static_cast<double>(end - start) / static_cast<double>(step));
  TORCH_CHECK(std::isfinite(exact) && exact < 9.0e18,
              "unsupported range: ", start, " -> ", end);
  return static_cast<int64_t>(exact);
}

}  // namespace

OutputSpec like(const at::Tensor& tensor) {
  OutputSpec spec = packed(tensor);
  if (!tensor.is_contiguous()) {
    const auto strides =
        at::infer_dense_strides(tensor.sizes(), tensor.strides());
    spec.strides.assign(strides.begin(), strides.end());
  }
  return spec;
}

OutputSpec likeInt(const at::Tensor& tensor) {
  OutputSpec spec = like(tensor);
  spec.dtype = at::kInt;
  return spec;
}

OutputSpec clipped(const at::Tensor& tensor, const at::Scalar& min,
                   const at::Scalar& max) {
  TORCH_CHECK(tensor.scalar_type() != at::kBool,
              "Bool inputs not supported for hardtanh");
  TORCH_CHECK(tensor.scalar_type() != at::kByte ||
                  (min.toLong() >= 0 && max.toLong() >= 0),
              "cannot do hardtanh on an unsigned type with negative limits");
  return like(tensor);
}

OutputSpec packed(const at::Tensor& tensor) {
  return {at::DimVector(tensor.sizes()), {}, tensor.scalar_type()};
}

OutputSpec flag() { return {{}, {}, at::kBool}; }

OutputSpec scalar(const at::Tensor& tensor) {
  return {{}, {}, tensor.scalar_type()};
}

OutputSpec total(const at::Tensor& tensor,
                 std::optional<at::ScalarType> dtype) {
  return {{}, {}, sumType(tensor.scalar_type(), dtype)};
}

OutputSpec reduced(const at::Tensor& tensor, at::OptionalIntArrayRef dim,
                   bool keepdim) {
  const bool all = !dim.has_value() || dim->empty();
  const auto mask =
      all ? std::bitset<at::dim_bitset_size>().set()
          : at::dim_list_to_bitset(*dim, static_cast<size_t>(tensor.dim()));
  OutputSpec spec = scalar(tensor);
  for (int64_t i = 0; i < tensor.dim(); ++i) {
    if (!mask[static_cast<size_t>(i)]) {
      spec.sizes.push_back(tensor.size(i));
    } else if (keepdim) {
      spec.sizes.push_back(1);
    }
  }
  return spec;
}

OutputSpec arange(const at::Scalar& start, const at::Scalar& end,
                  const at::Scalar& step, const at::Tensor& out) {
  const bool integers =
      at::isIntegralType(out.scalar_type(), /*includeBool=*/false);
  const int64_t size =
      integers ? steps(start.toLong(), end.toLong(), step.toLong())
               : steps(start.toDouble(), end.toDouble(), step.toDouble());
  return {{size}, {}, out.scalar_type()};
}

OutputSpec closedRange(const at::Scalar& start, const at::Scalar& end,
                       const at::Scalar& step, const at::Tensor& out) {
  const double first = start.toDouble();
  const double last = end.toDouble();
  const double width = step.toDouble();
  TORCH_CHECK(width != 0, "step must be nonzero");
  TORCH_CHECK(std::isfinite(first) && std::isfinite(last),
              "unsupported range: ", first, " -> ", last);
  TORCH_CHECK(width > 0 ? last >= first : last <= first,
              "upper bound and lower bound inconsistent with step sign");
  const auto size = static_cast<int64_t>((last - first) / width + 1);
  return {{size}, {}, out.scalar_type()};
}

OutputSpec linspace(int64_t steps, const at::Tensor& out) {
  TORCH_CHECK(steps >= 0, "number of steps must be non-negative");
  return {{steps}, {}, out.scalar_type()};
}

OutputSpec selected(const at::Tensor& tensor, int64_t dim,
                    const at::Tensor& index) {
  TORCH_CHECK_INDEX(index.dim() <= 1,
                    "index_select(): Index is supposed to be a vector, but got "
                    "dim: ",
                    index.dim());
  OutputSpec spec = packed(tensor);
  if (tensor.dim() > 0) {
    spec.sizes[at::maybe_wrap_dim(dim, tensor.dim())] = index.numel();
  }
  return spec;
}

OutputSpec taken(const at::Tensor& tensor, const at::Tensor& index) {
  TORCH_CHECK(index.scalar_type() == at::kLong,
              "take(): Expected a long tensor for index, but got ",
              index.scalar_type());
  TORCH_CHECK_INDEX(tensor.numel() > 0 || index.numel() == 0,
                    "take(): tried to take from an empty tensor");
  return {at::DimVector(index.sizes()), {}, tensor.scalar_type()};
}

OutputSpec positions(const at::Tensor& tensor, int64_t count) {
  TORCH_CHECK(count >= 0, "nonzero_static: 'size' must be an non-negative ",
              "integer, but got ", count);
  return {{count, tensor.dim()}, {}, at::kLong};
}

OutputSpec narrowed(const at::Tensor& tensor, int64_t dim, int64_t start,
                    int64_t length) {
  TORCH_CHECK(tensor.dim() > 0,
              "narrow() cannot be applied to a 0-dim tensor.");
  const int64_t wrapped = at::maybe_wrap_dim(dim, tensor.dim());
  const int64_t size = tensor.size(wrapped);
  const int64_t first = start < 0 ? start + size : start;
  TORCH_CHECK(length >= 0 && first >= 0 && first + length <= size, "start (",
              start, ") + length (", length, ") exceeds dimension size (", size,
              ").");
  OutputSpec spec = packed(tensor);
  spec.sizes[wrapped] = length;
  return spec;
}

OutputSpec embedded(const at::Tensor& weight, const at::Tensor& indices) {
  TORCH_CHECK(weight.dim() == 2, "'weight' must be 2-D");
  OutputSpec spec{at::DimVector(indices.sizes()), {}, weight.scalar_type()};
  spec.sizes.push_back(weight.size(1));
  return spec;
}

OutputSpec embeddingGrad(const at::Tensor& grad_output, int64_t num_weights) {
  return {{num_weights, grad_output.size(-1)}, {}, grad_output.scalar_type()};
}

OutputSpec reducedLoss(const at::Tensor& input, const at::Tensor& target,
                       int64_t reduction) {
  OutputSpec spec = scalar(input);
  const auto sizes = at::infer_size_dimvector(input.sizes(), target.sizes());
  if (reduction == at::Reduction::None) spec.sizes = sizes;
  return spec;
}

OutputSpec reducedTarget(const at::Tensor& input, const at::Tensor& target,
                         int64_t reduction) {
  OutputSpec spec = scalar(input);
  if (reduction == at::Reduction::None) {
    spec.sizes = at::DimVector(target.sizes());
  }
  return spec;
}

OutputSpec pooled(const at::Tensor& input, at::IntArrayRef output_size) {
  const auto spatial = static_cast<int64_t>(output_size.size());
  TORCH_CHECK(input.dim() == spatial + 1 || input.dim() == spatial + 2,
              "expected an input of ", spatial + 1, " or ", spatial + 2,
              " dimensions, but got ", input.sizes());
  OutputSpec spec = packed(input);
  for (int64_t i = 0; i < spatial; ++i) {
    spec.sizes[input.dim() - spatial + i] = output_size[i];
  }
  // PyTorch keeps the layout of images here, not that of volumes.
  if (spatial == 2 && input.dim() == 4 &&
      input.suggest_memory_format() == c10::MemoryFormat::ChannelsLast) {
    const auto strides = c10::get_channels_last_strides_2d(spec.sizes);
    spec.strides.assign(strides.begin(), strides.end());
  }
  return spec;
}

OutputSpec channelStats(const at::Tensor& input) {
  return {{channels(input)}, {}, statsType(input)};
}

OutputSpec savedStats(const at::Tensor& input, bool training) {
  OutputSpec spec = channelStats(input);
  if (!training) spec.sizes = {0};
  return spec;
}

OutputSpec channelParams(const at::Tensor& input,
                         const std::optional<at::Tensor>& weight) {
  return {{channels(input)}, {}, paramType(input, weight)};
}

OutputSpec normStats(const at::Tensor& input,
                     at::IntArrayRef normalized_shape) {
  const auto inner = static_cast<int64_t>(normalized_shape.size());
  TORCH_CHECK(inner >= 1 && inner <= input.dim() &&
                  input.sizes().slice(input.dim() - inner) == normalized_shape,
              "Given normalized_shape=", normalized_shape,
              ", expected input with shape [*, ", normalized_shape,
              "], but got input of size", input.sizes());
  OutputSpec spec{at::DimVector(input.sizes()), {}, statsType(input)};
  for (int64_t i = input.dim() - inner; i < input.dim(); ++i) spec.sizes[i] = 1;
  return spec;
}

OutputSpec normParams(const at::Tensor& input,
                      const std::optional<at::Tensor>& weight,
                      at::IntArrayRef normalized_shape) {
  return {at::DimVector(normalized_shape), {}, paramType(input, weight)};
}

OutputSpec groupStats(const at::Tensor& input, int64_t batch, int64_t groups) {
  return {{batch, groups}, {}, statsType(input)};
}

}  // namespace dipu::adapter::shape
