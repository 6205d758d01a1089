// SPDX-License-Identifier: Apache-2.0
//
// Operators without a DIOPI function that one or two others express.
#include <ATen/core/Tensor.h>
#include <ATen/ops/_assert_async.h>
#include <ATen/ops/_embedding_bag_dense_backward.h>
#include <ATen/ops/_embedding_bag_sparse_backward.h>
#include <ATen/ops/batch_norm_gather_stats_with_counts.h>
#include <ATen/ops/eq.h>
#include <ATen/ops/full.h>

#include <limits>
#include <optional>
#include <string_view>
#include <tuple>

#include "diopi_adapter/aten/kernels.h"

namespace dipu::aten {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// `infinity` has the sign that is asked for. Integers are never infinite.
at::Tensor& isInfinityOut(const at::Tensor& self, double infinity,
                          at::Tensor& out) {
  if (c10::isIntegralType(self.scalar_type(), /*includeBool=*/true)) {
    out.resize_(self.sizes());
    return out.fill_(false);
  }
  return at::eq_out(out, self, infinity);
}

at::Tensor& isNegInfOut(const at::Tensor& self, at::Tensor& out) {
  return isInfinityOut(self, -kInfinity, out);
}

at::Tensor& isPosInfOut(const at::Tensor& self, at::Tensor& out) {
  return isInfinityOut(self, kInfinity, out);
}

// `dep_token` keeps the assertion before what uses the result.
at::Tensor assertBefore(const at::Tensor& self, std::string_view message,
                        const at::Tensor& dep_token) {
  at::_assert_async(self, message);
  return dep_token.clone();
}

at::Tensor embeddingBagBackward(
    const at::Tensor& grad, const at::Tensor& indices,
    const at::Tensor& offsets, const at::Tensor& offset2bag,
    const at::Tensor& bag_size, const at::Tensor& maximum_indices,
    int64_t num_weights, bool scale_grad_by_freq, int64_t mode, bool sparse,
    const std::optional<at::Tensor>& per_sample_weights, int64_t padding_idx) {
  if (sparse) {
    return at::_embedding_bag_sparse_backward(
        grad, indices, offsets, offset2bag, bag_size, num_weights,
        scale_grad_by_freq, mode, per_sample_weights, padding_idx);
  }
  return at::_embedding_bag_dense_backward(
      grad, indices, offset2bag, bag_size, maximum_indices, num_weights,
      scale_grad_by_freq, mode, per_sample_weights, padding_idx);
}

// `count` elements gave each row of `mean` and `invstd`.
std::tuple<at::Tensor, at::Tensor> batchNormGatherStats(
    const at::Tensor& input, const at::Tensor& mean, const at::Tensor& invstd,
    const std::optional<at::Tensor>& running_mean,
    const std::optional<at::Tensor>& running_var, double momentum, double eps,
    int64_t count) {
  TORCH_CHECK(mean.dim() == 2, "batch_norm_gather_stats: mean has ", mean.dim(),
              " dimensions; give it 2, a row for each part of the batch");
  const at::Tensor counts = at::full({mean.size(0)}, count, mean.options());
  return at::batch_norm_gather_stats_with_counts(
      input, mean, invstd, running_mean, running_var, momentum, eps, counts);
}

}  // namespace

void registerComposite(torch::Library& library) {
  // Part of attention: _safe_softmax looks for rows that are masked out.
  bind<"isneginf.out", isNegInfOut>(library);
  bind<"isposinf.out", isPosInfOut>(library);
  bind<"_functional_assert_async.msg", assertBefore>(library);
  bind<"_embedding_bag_backward", embeddingBagBackward>(library);
  // Debug tools see the operator that it calls, see the aliases in ops.yaml.
  library.impl("batch_norm_gather_stats", batchNormGatherStats);
}

}  // namespace dipu::aten
