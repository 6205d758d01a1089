// SPDX-License-Identifier: Apache-2.0
//
// Scaled dot-product attention by DIOPI's flash attention, which needs no
// memory for all pairs of queries and keys.
//
// PyTorch asks chooseBackend() for each call of scaled_dot_product_attention.
// What the function does not cover (masks, dropout, causal attention of other
// lengths) is computed by PyTorch from products and a softmax, on the device as
// well.
#include <ATen/Context.h>
#include <ATen/OpMathType.h>
#include <ATen/SDPBackend.h>
#include <ATen/native/transformers/attention.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_backward.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include <cmath>

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
using OptionalTensor = std::optional<at::Tensor>;

constexpr char kForward[] = "_scaled_dot_product_fused_attention_overrideable";
constexpr char kBackward[] =
    "_scaled_dot_product_fused_attention_overrideable_backward";
constexpr int32_t kUnlimited = -1;  // width of a window

bool isGiven(const OptionalTensor& tensor) {
  return tensor.has_value() && tensor->defined();
}

bool isSupportedType(at::ScalarType type) {
  return type == at::kFloat || type == at::kDouble || type == at::kHalf ||
         type == at::kBFloat16;
}

// Tensors are [batch, heads, tokens, features].
bool isFused(const at::Tensor& query, const at::Tensor& key,
             const at::Tensor& value, bool is_causal, bool groups_heads) {
  const bool fits =
      query.dim() == 4 && key.dim() == 4 && value.dim() == 4 &&
      isSupportedType(query.scalar_type()) &&
      query.scalar_type() == key.scalar_type() &&
      key.scalar_type() == value.scalar_type() && query.numel() > 0 &&
      key.numel() > 0 && query.size(0) == key.size(0) &&
      key.size(0) == value.size(0) && key.size(1) == value.size(1) &&
      key.size(2) == value.size(2) && query.size(3) == key.size(3) &&
      key.size(3) == value.size(3);
  if (!fits) return false;
  // The function's first query sees key 0 only where both lengths agree.
  if (is_causal && query.size(2) != key.size(2)) return false;
  return groups_heads ? query.size(1) % key.size(1) == 0
                      : query.size(1) == key.size(1);
}

double scaleOf(const at::Tensor& query, std::optional<double> scale) {
  return scale.value_or(1.0 / std::sqrt(static_cast<double>(query.size(3))));
}

// DIOPI takes the scale in float32.
bool isScaleExact(const at::Tensor& query, std::optional<double> scale) {
  const double wanted = scaleOf(query, scale);
  return query.scalar_type() != at::kDouble ||
         static_cast<double>(static_cast<float>(wanted)) == wanted;
}

int64_t chooseBackend(const at::Tensor& query, const at::Tensor& key,
                      const at::Tensor& value, const OptionalTensor& mask,
                      double dropout, bool is_causal,
                      std::optional<double> scale, bool groups_heads) {
  const at::Context& context = at::globalContext();
  const bool has_function = symbols().diopiFlashAttention != nullptr &&
                            symbols().diopiFlashAttentionBackward != nullptr;
  // Scripts that ask for another fused kernel by name get ours.
  const bool is_allowed =
      context.userEnabledOverrideableSDP() || context.userEnabledFlashSDP() ||
      context.userEnabledMemEfficientSDP() || context.userEnabledCuDNNSDP();
  const bool is_fused = has_function && is_allowed && !isGiven(mask) &&
                        dropout == 0 &&
                        isFused(query, key, value, is_causal, groups_heads) &&
                        isScaleExact(query, scale);
  if (is_fused) return static_cast<int64_t>(at::SDPBackend::overrideable);
  TORCH_CHECK(
      context.userEnabledMathSDP(),
      "scaled_dot_product_attention: the device's fused attention does "
      "not cover this call (a mask, dropout, or sizes), and sdpa_kernel "
      "excludes SDPBackend.MATH. Allow it as well.");
  return static_cast<int64_t>(at::SDPBackend::math);
}

// DIOPI has the tokens before the heads.
at::Tensor tokensFirst(const at::Tensor& tensor) {
  return tensor.transpose(1, 2);
}

void check(const char* name, const OptionalTensor& bias, double dropout) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      !isGiven(bias) && dropout == 0, name,
      " has neither a bias nor dropout on this device. Call "
      "torch.nn.functional.scaled_dot_product_attention, which computes those "
      "in another way.");
}

struct Output {
  at::Tensor out;        // [batch, heads, queries, features]
  at::Tensor logsumexp;  // [batch, heads, queries]
};

bool attendNatively(const at::Tensor& query, const at::Tensor& key,
                    const at::Tensor& value, bool is_causal, double scale,
                    const Output& result) {
  const auto function = symbols().diopiFlashAttention;
  if (function == nullptr) return noteRefusal(kLacksFunction);
  const at::Tensor q = tokensFirst(query);
  const at::Tensor k = tokensFirst(key);
  const at::Tensor v = tokensFirst(value);
  const at::Tensor out = tokensFirst(result.out);
  const c10::DeviceIndex device = query.device().index();
  CallContext context(device);
  Draw generator(std::nullopt, device, /*count=*/0);
  if (!context.accept(function(context, Out(out), Out(result.logsumexp),
                               generator, In(q), In(k), In(v), In(at::Tensor()),
                               /*p_dropout=*/0.0f, static_cast<float>(scale),
                               is_causal, kUnlimited, kUnlimited),
                      kForward, {&query, &key, &value})) {
    return false;
  }
  fallback::countNative(kForward);
  return true;
}

// Computes on the CPU, whose kernel has one head of keys for each of queries.
void attendOnCpu(const at::Tensor& query, const at::Tensor& key,
                 const at::Tensor& value, bool is_causal, double scale,
                 const Output& result) {
  const ReferenceScope account(kForward, query);
  const int64_t group = query.size(1) / key.size(1);
  const auto [out, logsumexp] = at::_scaled_dot_product_flash_attention_for_cpu(
      toCpu(query), toCpu(key).repeat_interleave(group, 1),
      toCpu(value).repeat_interleave(group, 1), 0.0, is_causal, std::nullopt,
      scale);
  result.out.copy_(out);
  result.logsumexp.copy_(logsumexp);
}

// On the device of `like`; debug tools have tensors of the CPU.
at::Tensor newContiguous(at::IntArrayRef sizes, c10::ScalarType dtype,
                         const at::Tensor& like) {
  if (like.is_cpu()) return at::empty(sizes, like.options().dtype(dtype));
  return emptyContiguous(sizes, dtype, like.device().index());
}

// A new tensor of the sizes of `like`, with tokens first in memory.
at::Tensor newTokensFirst(const at::Tensor& like) {
  return tokensFirst(
      newContiguous(tokensFirst(like).sizes(), like.scalar_type(), like));
}

Output newOutput(const at::Tensor& query) {
  return {at::empty_like(query),
          newContiguous(query.sizes().slice(0, 3),
                        at::toOpMathType(query.scalar_type()), query)};
}

using Forward =
    std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, c10::SymInt,
               c10::SymInt, at::Tensor, at::Tensor, at::Tensor>;

template <bool on_cpu>
Forward attend(const at::Tensor& query, const at::Tensor& key,
               const at::Tensor& value, const OptionalTensor& bias,
               double dropout, bool is_causal, bool /*debug_mask*/,
               std::optional<double> scale) {
  check(kForward, bias, dropout);
  const Output result = newOutput(query);
  const double factor = scaleOf(query, scale);
  if (on_cpu || !attendNatively(query, key, value, is_causal, factor, result)) {
    attendOnCpu(query, key, value, is_causal, factor, result);
  }
  return {result.out,   result.logsumexp, at::Tensor(),
          at::Tensor(), query.size(2),    key.size(2),
          at::Tensor(), at::Tensor(),     at::Tensor()};
}

struct Gradients {
  at::Tensor query;
  at::Tensor key;
  at::Tensor value;
};

bool differentiateNatively(const at::Tensor& grad_out, const at::Tensor& query,
                           const at::Tensor& key, const at::Tensor& value,
                           const Output& forward, bool is_causal, double scale,
                           const Gradients& gradients) {
  const auto function = symbols().diopiFlashAttentionBackward;
  if (function == nullptr) return noteRefusal(kLacksFunction);
  const at::Tensor g = tokensFirst(grad_out);
  const at::Tensor q = tokensFirst(query);
  const at::Tensor k = tokensFirst(key);
  const at::Tensor v = tokensFirst(value);
  const at::Tensor out = tokensFirst(forward.out);
  const at::Tensor grad_q = tokensFirst(gradients.query);
  const at::Tensor grad_k = tokensFirst(gradients.key);
  const at::Tensor grad_v = tokensFirst(gradients.value);
  const c10::DeviceIndex device = query.device().index();
  CallContext context(device);
  Draw generator(std::nullopt, device, /*count=*/0);
  if (!context.accept(function(context, Out(grad_q), Out(grad_k), Out(grad_v),
                               In(g), generator, In(q), In(k), In(v),
                               In(at::Tensor()), In(out), In(forward.logsumexp),
                               /*p_dropout=*/0.0f, static_cast<float>(scale),
                               is_causal, kUnlimited, kUnlimited),
                      kBackward, {&grad_out, &query, &key, &value})) {
    return false;
  }
  fallback::countNative(kBackward);
  return true;
}

// The gradient of a head that stands for `group` others.
at::Tensor joinGroup(const at::Tensor& grad, int64_t group) {
  return grad.unflatten(1, {grad.size(1) / group, group}).sum(2);
}

void differentiateOnCpu(const at::Tensor& grad_out, const at::Tensor& query,
                        const at::Tensor& key, const at::Tensor& value,
                        const Output& forward, bool is_causal, double scale,
                        const Gradients& gradients) {
  const ReferenceScope account(kBackward, query);
  const int64_t group = query.size(1) / key.size(1);
  const auto [grad_query, grad_key, grad_value] =
      at::_scaled_dot_product_flash_attention_for_cpu_backward(
          toCpu(grad_out), toCpu(query), toCpu(key).repeat_interleave(group, 1),
          toCpu(value).repeat_interleave(group, 1), toCpu(forward.out),
          toCpu(forward.logsumexp), 0.0, is_causal, std::nullopt, scale);
  gradients.query.copy_(grad_query);
  gradients.key.copy_(joinGroup(grad_key, group));
  gradients.value.copy_(joinGroup(grad_value, group));
}

template <bool on_cpu>
std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> attendBackward(
    const at::Tensor& grad_out, const at::Tensor& query, const at::Tensor& key,
    const at::Tensor& value, const at::Tensor& bias,
    std::array<bool, 4> /*wanted*/, const at::Tensor& out,
    const at::Tensor& logsumexp, const at::Tensor& /*cum_seq_q*/,
    const at::Tensor& /*cum_seq_k*/, c10::SymInt /*max_q*/,
    c10::SymInt /*max_k*/, double dropout, bool is_causal,
    const at::Tensor& /*philox_seed*/, const at::Tensor& /*philox_offset*/,
    std::optional<double> scale) {
  check(kBackward, bias, dropout);
  const Output forward{out, logsumexp};
  const Gradients gradients{newTokensFirst(query), newTokensFirst(key),
                            newTokensFirst(value)};
  const double factor = scaleOf(query, scale);
  if (on_cpu || !differentiateNatively(grad_out, query, key, value, forward,
                                       is_causal, factor, gradients)) {
    differentiateOnCpu(grad_out, query, key, value, forward, is_causal, factor,
                       gradients);
  }
  return {gradients.query, gradients.key, gradients.value, at::Tensor()};
}

}  // namespace

void registerAttention(torch::Library& library) {
  bind<kForward, attend<false>, attend<true>>(library);
  bind<kBackward, attendBackward<false>, attendBackward<true>>(library);
  using Stub = struct at::native::_fused_sdp_choice_stub_DECLARE_DISPATCH_type;
  at::native::RegisterPRIVATEUSE1Dispatch<Stub>(
      at::native::_fused_sdp_choice_stub, &chooseBackend);
}

}  // namespace dipu::aten
