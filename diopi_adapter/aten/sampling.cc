// SPDX-License-Identifier: Apache-2.0
//
// Operators that draw and compute: dropout, permutations, multinomial.
#include <ATen/TensorUtils.h>
#include <ATen/native/Resize.h>
#include <ATen/native/TensorFactories.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/multinomial_ops.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/randperm_ops.h>

#include "diopi_adapter/aten/draw.h"
#include "diopi_adapter/aten/empty.h"
#include "diopi_adapter/aten/kernels.h"
#include "diopi_adapter/aten/native_call.h"
#include "diopi_adapter/runtime/handles.h"

namespace dipu::aten {
namespace {

using adapter::CallContext;
using adapter::In;
using adapter::noteRefusal;
using adapter::Out;
using adapter::symbols;
using OptionalGenerator = std::optional<at::Generator>;

bool dropNatively(const at::Tensor& out, const at::Tensor& mask,
                  const at::Tensor& input, double p) {
  const auto function = symbols().diopiDropout;
  if (function == nullptr) return false;
  const c10::DeviceIndex device = input.device().index();
  CallContext context(device);
  Draw draw(std::nullopt, device, input.numel());
  if (!context.accept(function(context, Out(out), Out(mask), In(input), p,
                               /*train=*/true, draw),
                      "native_dropout", {&input})) {
    return false;
  }
  draw.finish();
  fallback::countNative("native_dropout");
  return true;
}

std::tuple<at::Tensor, at::Tensor> nativeDropout(const at::Tensor& input,
                                                 double p,
                                                 std::optional<bool> train) {
  TORCH_CHECK(0 <= p && p <= 1,
              "dropout probability has to be between 0 and 1, but got ", p);
  at::Tensor mask = at::empty_like(input, input.options().dtype(at::kBool));
  if (input.numel() == 0) return {at::empty_like(input), mask};
  if (!train.value_or(true)) return {input.clone(), mask.fill_(true)};
  at::Tensor out = at::empty_like(input);
  if (!dropNatively(out, mask, input, p)) {
    mask.bernoulli_(1 - p);
    out = input.mul(mask).mul_(p == 1 ? 0.0 : 1 / (1 - p));
  }
  return {out, mask};
}

at::Tensor nativeDropoutBackward(const at::Tensor& grad_output,
                                 const at::Tensor& mask, double scale) {
  at::Tensor kept = mask.to(grad_output.scalar_type(), /*non_blocking=*/false,
                            /*copy=*/true)
                        .mul_(grad_output);
  // Gradients of integers, which PyTorch does not refuse, become floating.
  return kept.is_floating_point() ? kept.mul_(scale) : kept.mul(scale);
}

at::Tensor& randpermOut(int64_t n, OptionalGenerator generator,
                        at::Tensor& out) {
  TORCH_CHECK(n >= 0, "n must be non-negative, got", n);
  at::native::check_supported_max_int_with_precision(n, out);
  out.resize_({n});
  if (n == 0) return out;
  const auto function = symbols().diopiRandperm;
  bool done = function != nullptr || noteRefusal(kLacksFunction);
  if (done) {
    const c10::DeviceIndex device = out.device().index();
    CallContext context(device);
    Draw draw(generator, device, n);
    done = context.accept(function(context, Out(out), n, draw), "randperm",
                          {&out});
    if (done) draw.finish();
  }
  if (done) {
    fallback::countNative("randperm.generator_out");
  } else {
    onCpu<at::_ops::randperm_generator_out>(n, generator, out);
  }
  return out;
}

void checkMultinomial(const at::Tensor& self, int64_t count, bool replacement) {
  TORCH_CHECK(self.dim() > 0 && self.dim() <= 2,
              "prob_dist must be 1 or 2 dim");
  TORCH_CHECK(
      at::isFloatingType(self.scalar_type()),
      "multinomial only supports floating-point dtypes for input, got: ",
      self.scalar_type());
  TORCH_CHECK(count > 0, "cannot sample n_sample <= 0 samples");
  TORCH_CHECK(replacement || count <= self.size(-1),
              "cannot sample n_sample > prob_dist.size(-1) samples without "
              "replacement");
}

// The race of exponential clocks: category i wins with chance p_i / sum(p).
at::Tensor sampleByRace(const at::Tensor& self, int64_t count,
                        const OptionalGenerator& generator) {
  const at::Tensor valid = self.isfinite()
                               .logical_and(self.ge(0))
                               .all()
                               .logical_and(self.sum(-1).gt(0).all());
  TORCH_CHECK(valid.item<bool>(),
              "probability tensor contains either `inf`, `nan` or element < 0, "
              "or a row that sums to zero");
  const at::Tensor scores =
      self.div(at::empty_like(self).exponential_(1, generator));
  if (count == 1) return scores.argmax(-1, /*keepdim=*/true);
  return std::get<1>(scores.topk(count));
}

at::Tensor multinomial(const at::Tensor& self, int64_t count, bool replacement,
                       OptionalGenerator generator) {
  checkMultinomial(self, count, replacement);
  if (!replacement || count == 1) return sampleByRace(self, count, generator);
  const auto function = symbols().diopiMultinomial;
  if (function == nullptr) {
    noteRefusal(kLacksFunction);
    return onCpu<at::_ops::multinomial>(self, count, replacement, generator);
  }
  at::DimVector sizes(self.sizes());
  sizes.back() = count;
  const c10::DeviceIndex device = self.device().index();
  const at::Tensor out = emptyContiguous(sizes, at::kLong, device);
  {
    CallContext context(device);
    Draw draw(generator, device, out.numel());
    if (context.accept(
            function(context, Out(out), In(self), count, replacement, draw),
            "multinomial", {&self})) {
      draw.finish();
      fallback::countNative("multinomial");
      return out;
    }
  }
  return onCpu<at::_ops::multinomial>(self, count, replacement, generator);
}

at::Tensor& multinomialOut(const at::Tensor& self, int64_t count,
                           bool replacement, OptionalGenerator generator,
                           at::Tensor& out) {
  TORCH_CHECK(out.scalar_type() == at::kLong,
              "multinomial expects Long tensor out, got: ", out.scalar_type());
  const at::Tensor drawn =
      aten::multinomial(self, count, replacement, std::move(generator));
  at::native::resize_output(out, drawn.sizes());
  return out.copy_(drawn);
}

}  // namespace

void registerSampling(torch::Library& library) {
  bind<"native_dropout", nativeDropout>(library);
  bind<"native_dropout_backward", nativeDropoutBackward>(library);
  bind<"randperm.generator_out", randpermOut>(library);
  bind<"multinomial", multinomial>(library);
  bind<"multinomial.out", multinomialOut>(library);
}

}  // namespace dipu::aten
