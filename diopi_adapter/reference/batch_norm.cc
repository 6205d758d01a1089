// SPDX-License-Identifier: Apache-2.0
//
// Every function computes in float64 what the operator's formula says.
#include <ATen/TensorOperators.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/var_mean.h>

#include <vector>

#include "diopi_adapter/aten/native_call.h"
#include "diopi_adapter/reference/reference.h"

namespace dipu::reference {
namespace {

using aten::OnCpu;
using Pair = std::tuple<at::Tensor, at::Tensor>;
using Four = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor>;

at::Tensor exact(const at::Tensor& tensor) { return tensor.to(at::kDouble); }

// The type of statistics of an input.
at::ScalarType statsType(const at::Tensor& input) {
  return at::isReducedFloatingType(input.scalar_type()) ? at::kFloat
                                                        : input.scalar_type();
}

// All dimensions but that of the channels.
std::vector<int64_t> others(const at::Tensor& input) {
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < input.dim(); ++d) {
    if (d != 1) dims.push_back(d);
  }
  return dims;
}

// Entries of channels in float64, to be broadcast to the input.
at::Tensor perChannel(const at::Tensor& entries, const at::Tensor& input) {
  std::vector<int64_t> sizes(static_cast<std::size_t>(input.dim()), 1);
  sizes[1] = input.size(1);
  return exact(entries).reshape(sizes);
}

bool isGiven(const OptionalTensor& tensor) {
  return tensor.has_value() && tensor->defined();
}

Pair stats(const at::Tensor& input, double eps) {
  const auto [var, mean] =
      at::var_mean(exact(input), others(input), /*correction=*/0);
  const at::ScalarType type = statsType(input);
  return {mean.to(type), (var + eps).rsqrt().to(type)};
}

at::Tensor normalize(const at::Tensor& input, const OptionalTensor& weight,
                     const OptionalTensor& bias, const at::Tensor& mean,
                     const at::Tensor& invstd, double /*eps*/) {
  at::Tensor out =
      (exact(input) - perChannel(mean, input)) * perChannel(invstd, input);
  if (isGiven(weight)) out = out * perChannel(*weight, input);
  if (isGiven(bias)) out = out + perChannel(*bias, input);
  return out.to(input.scalar_type());
}

// `old` moved towards `now`; undefined when there is none.
at::Tensor moved(const OptionalTensor& old, const at::Tensor& now,
                 double momentum) {
  if (!isGiven(old)) return {};
  return (exact(*old) * (1 - momentum) + now * momentum).to(old->scalar_type());
}

// Mean, 1 / deviation, and the running statistics as they are afterwards.
Four gather(const at::Tensor& mean, const at::Tensor& invstd,
            const OptionalTensor& running_mean,
            const OptionalTensor& running_var, double momentum, double eps,
            const at::Tensor& counts) {
  const at::Tensor own = exact(counts).reshape({-1, 1});
  const at::Tensor total = own.sum();
  const at::Tensor average = (exact(mean) * own).sum(0) / total;
  const at::Tensor spread = exact(invstd).pow(-2) - eps;
  const at::Tensor squares =
      ((spread + (exact(mean) - average).pow(2)) * own).sum(0);
  return {average.to(mean.scalar_type()),
          (squares / total + eps).rsqrt().to(invstd.scalar_type()),
          moved(running_mean, average, momentum),
          moved(running_var, squares / (total - 1), momentum)};
}

Four reduceGradient(const at::Tensor& grad_out, const at::Tensor& input,
                    const at::Tensor& mean, const at::Tensor& invstd,
                    const OptionalTensor& weight, bool /*input_g*/,
                    bool /*weight_g*/, bool /*bias_g*/) {
  const at::Tensor grad = exact(grad_out);
  const at::Tensor centred = exact(input) - perChannel(mean, input);
  const at::Tensor sum = grad.sum(others(input));
  const at::Tensor product = (grad * centred).sum(others(input));
  const at::ScalarType type = statsType(input);
  const at::ScalarType own = isGiven(weight) ? weight->scalar_type() : type;
  return {sum.to(type), product.to(type), (product * exact(invstd)).to(own),
          sum.to(own)};
}

at::Tensor differentiate(const at::Tensor& grad_out, const at::Tensor& input,
                         const at::Tensor& mean, const at::Tensor& invstd,
                         const OptionalTensor& weight, const at::Tensor& sum_dy,
                         const at::Tensor& sum_dy_xmu,
                         const at::Tensor& count) {
  const at::Tensor total = exact(count).sum();
  const at::Tensor scale = perChannel(invstd, input);
  const at::Tensor slope =
      perChannel(sum_dy_xmu, input) / total * scale * scale;
  at::Tensor grad = exact(grad_out) - perChannel(sum_dy, input) / total -
                    (exact(input) - perChannel(mean, input)) * slope;
  grad = grad * scale;
  if (isGiven(weight)) grad = grad * perChannel(*weight, input);
  return grad.to(input.scalar_type());
}

}  // namespace

Pair batchNormStats(const at::Tensor& input, double eps) {
  return OnCpu<"batch_norm_stats", stats>::call(input, eps);
}

at::Tensor batchNormElemt(const at::Tensor& input, const OptionalTensor& weight,
                          const OptionalTensor& bias, const at::Tensor& mean,
                          const at::Tensor& invstd, double eps) {
  return OnCpu<"batch_norm_elemt", normalize>::call(input, weight, bias, mean,
                                                    invstd, eps);
}

Pair batchNormGatherStatsWithCounts(const at::Tensor& /*input*/,
                                    const at::Tensor& mean,
                                    const at::Tensor& invstd,
                                    const OptionalTensor& running_mean,
                                    const OptionalTensor& running_var,
                                    double momentum, double eps,
                                    const at::Tensor& counts) {
  const auto [joint_mean, joint_invstd, new_mean, new_var] =
      OnCpu<"batch_norm_gather_stats_with_counts", gather>::call(
          mean, invstd, running_mean, running_var, momentum, eps, counts);
  if (isGiven(running_mean)) running_mean->copy_(new_mean);
  if (isGiven(running_var)) running_var->copy_(new_var);
  return {joint_mean, joint_invstd};
}

Four batchNormBackwardReduce(const at::Tensor& grad_out,
                             const at::Tensor& input, const at::Tensor& mean,
                             const at::Tensor& invstd,
                             const OptionalTensor& weight, bool input_g,
                             bool weight_g, bool bias_g) {
  return OnCpu<"batch_norm_backward_reduce", reduceGradient>::call(
      grad_out, input, mean, invstd, weight, input_g, weight_g, bias_g);
}

at::Tensor batchNormBackwardElemt(
    const at::Tensor& grad_out, const at::Tensor& input, const at::Tensor& mean,
    const at::Tensor& invstd, const OptionalTensor& weight,
    const at::Tensor& sum_dy, const at::Tensor& sum_dy_xmu,
    const at::Tensor& count) {
  return OnCpu<"batch_norm_backward_elemt", differentiate>::call(
      grad_out, input, mean, invstd, weight, sum_dy, sum_dy_xmu, count);
}

}  // namespace dipu::reference
