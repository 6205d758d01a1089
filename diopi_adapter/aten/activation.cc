// SPDX-License-Identifier: Apache-2.0
//
// Activations and normalizations that others express: each names the formula
// it follows. In 16 bits each of those rounds its result, unless the saved
// statistics are wider.
#include <ATen/WrapDimUtils.h>
#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/_softmax.h>
#include <ATen/ops/_softmax_backward_data.h>
#include <ATen/ops/add.h>
#include <ATen/ops/addcmul.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/div.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/sum.h>

#include <limits>
#include <optional>
#include <tuple>

#include "diopi_adapter/aten/kernels.h"
#include "diopi_adapter/fallback/counters.h"

namespace dipu::aten {
namespace {

using OptionalGenerator = std::optional<at::Generator>;

// Randomized leaky rectifier: x where it is positive, else x times a random
// slope, which `noise` keeps; without training the mean slope.
at::Tensor& rreluOut(const at::Tensor& self, at::Tensor& noise,
                     const at::Scalar& lower, const at::Scalar& upper,
                     bool training, OptionalGenerator generator,
                     at::Tensor& out) {
  TORCH_CHECK(self.sizes() == noise.sizes(),
              "noise tensor shape must match self tensor shape, but they are ",
              noise.sizes(), " and ", self.sizes());
  fallback::countNative("rrelu_with_noise");
  const double low = lower.toDouble();
  const double high = upper.toDouble();
  if (!training) return at::leaky_relu_out(out, self, (low + high) / 2);
  noise.uniform_(low, high, std::move(generator));
  noise.masked_fill_(self.le(0).logical_not_(), 1);
  return at::mul_out(out, self, noise);
}

at::Tensor rrelu(const at::Tensor& self, at::Tensor& noise,
                 const at::Scalar& lower, const at::Scalar& upper,
                 bool training, OptionalGenerator generator) {
  at::Tensor out = at::empty_like(self);
  rreluOut(self, noise, lower, upper, training, std::move(generator), out);
  return out;
}

at::Tensor& rreluInplace(at::Tensor& self, at::Tensor& noise,
                         const at::Scalar& lower, const at::Scalar& upper,
                         bool training, OptionalGenerator generator) {
  return rreluOut(self, noise, lower, upper, training, std::move(generator),
                  self);
}

// The change of glu_backward(grad, x) with s the sigmoid, x = [a, b]:
//
//   [grad s(b), grad a s'(b)]   changes by   dgrad, da, db   times derivatives
//
// where s' = s (1 - s) and s'' = s' (1 - 2 s).
at::Tensor gluBackwardTangent(const at::Tensor& /*grad_x*/,
                              const at::Tensor& grad, const at::Tensor& x,
                              const at::Tensor& dgrad, const at::Tensor& dx,
                              int64_t dim) {
  fallback::countNative("glu_backward_jvp");
  const auto halves = x.chunk(2, dim);
  const auto changes = dx.chunk(2, dim);
  const at::Tensor &a = halves[0], &da = changes[0], &db = changes[1];
  const at::Tensor s = at::sigmoid(halves[1]);
  const at::Tensor slope = at::addcmul(s, s, s, -1);
  const at::Tensor grad_slope = at::mul(grad, slope);
  const at::Tensor first = at::add(at::mul(dgrad, s), at::mul(grad_slope, db));
  at::Tensor second = at::mul(at::mul(dgrad, a), slope);
  second = at::addcmul(second, grad_slope, da);
  second =
      at::addcmul(second, grad_slope, at::mul(a, at::addcmul(db, s, db, -2)));
  return at::cat({first, second}, dim);
}

// `mask` in the shape of an input, by the kind of mask: of attention (L x L),
// of padding (B x L), or of the input's shape.
at::Tensor expandedMask(const at::Tensor& self, const at::Tensor& mask,
                        std::optional<int64_t> mask_type) {
  TORCH_CHECK(mask.scalar_type() == at::kBool,
              "Mask should be a boolean tensor, but is ", mask.scalar_type());
  TORCH_CHECK(mask_type.has_value(), "Mask Type should be defined");
  TORCH_CHECK(*mask_type >= 0 && *mask_type <= 2,
              "Mask Type should be 0 (src_mask), 1 (src_key_padding_mask), or "
              "2 (default_mask), but is ",
              *mask_type);
  if (mask.dim() == 2 && self.dim() == 4 && *mask_type < 2) {
    const bool padding = *mask_type == 1;
    return (padding ? mask.unsqueeze(1).unsqueeze(1) : mask)
        .expand(self.sizes());
  }
  TORCH_CHECK(
      mask.sizes() == self.sizes(),
      "For mask_type == 2 mask shape should match input shape, but they "
      "are ",
      mask.sizes(), " and ", self.sizes());
  return mask;
}

// A softmax in which masked elements count nothing; lines of nothing else are
// NaN.
at::Tensor maskedSoftmax(const at::Tensor& self, const at::Tensor& mask,
                         std::optional<int64_t> dim,
                         std::optional<int64_t> mask_type) {
  const at::Tensor expanded = expandedMask(self, mask, mask_type);
  fallback::countNative("_masked_softmax");
  const at::Tensor shown =
      self.masked_fill(expanded, -std::numeric_limits<double>::infinity());
  return at::_softmax(shown, dim.value_or(-1), /*half_to_float=*/false);
}

at::Tensor maskedSoftmaxBackward(const at::Tensor& grad,
                                 const at::Tensor& output,
                                 const at::Tensor& mask,
                                 std::optional<int64_t> dim) {
  TORCH_CHECK(mask.sizes() == grad.sizes(),
              "Mask shape should match grad shape, but they are ", mask.sizes(),
              " and ", grad.sizes());
  fallback::countNative("_masked_softmax_backward");
  return at::_softmax_backward_data(grad.masked_fill(mask, 0),
                                    output.masked_fill(mask, 0),
                                    dim.value_or(-1), grad.scalar_type());
}

// Weight normalization (Salimans and Kingma, 2016): w = v g / |v|, norms taken
// over all dimensions but one, the first or the last.
class WeightNorm {
 public:
  WeightNorm(const at::Tensor& v, const at::Tensor& g, int64_t dim)
      : dim_(at::maybe_wrap_dim(dim, v.dim())), shape_(g.sizes()) {
    TORCH_CHECK(dim_ == 0 || dim_ == v.dim() - 1,
                "weight_norm: dim must be the first or the last of ", v.dim(),
                " dimensions, but is ", dim);
  }

  // A matrix whose rows or columns, see reduced(), are the vectors.
  at::Tensor matrix(const at::Tensor& v) const {
    const int64_t kept = v.dim() == 0 ? 1 : v.size(dim_);
    const int64_t rest = kept == 0 ? 0 : v.numel() / kept;
    return dim_ == 0 ? v.reshape({kept, rest}) : v.reshape({rest, kept});
  }
  int64_t reduced() const { return dim_ == 0 ? 1 : 0; }
  at::Tensor unflatten(const at::Tensor& norms) const {
    return norms.view(shape_);
  }

 private:
  const int64_t dim_;
  const at::IntArrayRef shape_;
};

at::ScalarType wide(at::ScalarType type) {
  return at::isReducedFloatingType(type) ? at::kFloat : type;
}

std::tuple<at::Tensor, at::Tensor> weightNorm(const at::Tensor& v,
                                              const at::Tensor& g,
                                              int64_t dim) {
  fallback::countNative("_weight_norm_interface");
  const WeightNorm form(v, g, dim);
  at::Tensor norms = form.unflatten(
      at::linalg_vector_norm(form.matrix(v), 2, form.reduced(),
                             /*keepdim=*/false, wide(v.scalar_type())));
  const at::Tensor w = at::mul(v, at::div(g, norms));
  return {w.to(v.scalar_type()), std::move(norms)};
}

std::tuple<at::Tensor, at::Tensor> weightNormBackward(const at::Tensor& grad,
                                                      const at::Tensor& v,
                                                      const at::Tensor& g,
                                                      const at::Tensor& norms,
                                                      int64_t dim) {
  fallback::countNative("_weight_norm_interface_backward");
  const WeightNorm form(v, g, dim);
  const at::Tensor wide_v = v.to(norms.scalar_type());
  const at::Tensor product = at::mul(grad, wide_v);
  const at::Tensor along = at::div(
      form.unflatten(at::sum(form.matrix(product), form.reduced())), norms);
  const at::Tensor across =
      at::sub(grad, at::mul(wide_v, at::div(along, norms)));
  const at::Tensor grad_v = at::mul(at::div(g, norms), across);
  return {grad_v.to(v.scalar_type()), along.to(g.scalar_type())};
}

}  // namespace

void registerActivations(torch::Library& library) {
  bind<"rrelu_with_noise", rrelu>(library);
  bind<"rrelu_with_noise_", rreluInplace>(library);
  bind<"rrelu_with_noise.out", rreluOut>(library);
  bind<"glu_backward_jvp", gluBackwardTangent>(library);
  bind<"_masked_softmax", maskedSoftmax>(library);
  bind<"_masked_softmax_backward", maskedSoftmaxBackward>(library);
  bind<"_weight_norm_interface", weightNorm>(library);
  bind<"_weight_norm_interface_backward", weightNormBackward>(library);
}

}  // namespace dipu::aten
