// SPDX-License-Identifier: Apache-2.0
//
// Convolution. aten::convolution reaches these two operators for the device;
// the CPU has no kernel for them, so what the operator library does not cover
// is computed by the CPU's own convolution.
#include <ATen/native/ConvUtils.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>

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
using adapter::sizeArray;
using adapter::symbols;

constexpr char kForward[] = "convolution_overrideable";
constexpr char kBackward[] = "convolution_backward_overrideable";

using Gradients = std::tuple<at::Tensor, at::Tensor, at::Tensor>;
using Mask = std::array<bool, 3>;

// The attributes of a convolution, for any number of dimensions.
struct Attributes {
  at::IntArrayRef stride;
  at::IntArrayRef padding;
  at::IntArrayRef dilation;
  bool transposed;
  at::IntArrayRef output_padding;
  int64_t groups;
};

// DIOPI has functions for two and three dimensions; PyTorch makes one dimension
// two before it comes here.
bool isKnown(const at::Tensor& input) {
  return input.dim() == 4 || input.dim() == 5 ||
         noteRefusal("only two and three dimensions are native");
}

at::Tensor newOutput(const at::Tensor& like, at::IntArrayRef sizes,
                     c10::MemoryFormat format) {
  at::Tensor out =
      emptyContiguous(sizes, like.scalar_type(), like.device().index());
  out.unsafeGetTensorImpl()->empty_tensor_restride(format);
  return out;
}

// The layout that input and weight ask for: channels-last if one of them is.
c10::MemoryFormat formatOf(const at::Tensor& input, const at::Tensor& weight) {
  const auto last = input.dim() == 5 ? c10::MemoryFormat::ChannelsLast3d
                                     : c10::MemoryFormat::ChannelsLast;
  return input.suggest_memory_format() == last ||
                 weight.suggest_memory_format() == last
             ? last
             : c10::MemoryFormat::Contiguous;
}

std::vector<int64_t> outputSize(const at::Tensor& input,
                                const at::Tensor& weight, const Attributes& a) {
  return a.transposed
             ? at::native::conv_input_size(input.sizes(), weight.sizes(),
                                           a.padding, a.output_padding,
                                           a.stride, a.dilation, a.groups)
             : at::native::conv_output_size(input.sizes(), weight.sizes(),
                                            a.padding, a.stride, a.dilation);
}

// Number of elements of a bias.
int64_t biasSize(const at::Tensor& weight, const Attributes& a) {
  return a.transposed ? weight.size(1) * a.groups : weight.size(0);
}

// Of two functions the one for as many dimensions as the tensor has; a null one
// is noted.
template <typename Function>
Function* choose(const at::Tensor& input, Function* two, Function* three) {
  Function* function = input.dim() == 4 ? two : three;
  if (function == nullptr) {
    noteRefusal(kLacksFunction);
  }
  return function;
}

// Undefined when the library does not cover the case.
at::Tensor forwardNatively(const at::Tensor& input, const at::Tensor& weight,
                           const std::optional<at::Tensor>& bias,
                           const Attributes& a, c10::MemoryFormat format) {
  const auto plain = a.transposed ? nullptr
                                  : choose(input, symbols().diopiConvolution2d,
                                           symbols().diopiConvolution3d);
  const auto transposed = !a.transposed
                              ? nullptr
                              : choose(input, symbols().diopiConvTranspose2d,
                                       symbols().diopiConvTranspose3d);
  if (plain == nullptr && transposed == nullptr) return {};
  const at::Tensor out = newOutput(input, outputSize(input, weight, a), format);
  const at::Tensor x = input.contiguous(format);
  const at::Tensor w = weight.contiguous(format);
  CallContext context(input.device().index());
  const diopiError_t status =
      plain != nullptr ? plain(context, Out(out), In(x), In(w), In(bias),
                               sizeArray(a.stride), sizeArray(a.padding),
                               sizeArray(a.dilation), a.groups)
                       : transposed(context, Out(out), In(x), In(w), In(bias),
                                    sizeArray(a.stride), sizeArray(a.padding),
                                    sizeArray(a.output_padding), a.groups,
                                    sizeArray(a.dilation));
  if (!context.accept(status, kForward, {&input, &weight})) return {};
  fallback::countNative(kForward);
  return out;
}

at::Tensor forwardOnCpu(const at::Tensor& input, const at::Tensor& weight,
                        const std::optional<at::Tensor>& bias,
                        const Attributes& attributes) {
  const ReferenceScope account(kForward, input);
  return at::convolution(toCpu(input), toCpu(weight), toCpu(bias),
                         attributes.stride, attributes.padding,
                         attributes.dilation, attributes.transposed,
                         attributes.output_padding, attributes.groups)
      .to(input.device());
}

at::Tensor convolutionOnCpu(const at::Tensor& input, const at::Tensor& weight,
                            const std::optional<at::Tensor>& bias,
                            at::IntArrayRef stride, at::IntArrayRef padding,
                            at::IntArrayRef dilation, bool transposed,
                            at::IntArrayRef output_padding, int64_t groups) {
  return forwardOnCpu(
      input, weight, bias,
      {stride, padding, dilation, transposed, output_padding, groups});
}

at::Tensor convolution(const at::Tensor& input, const at::Tensor& weight,
                       const std::optional<at::Tensor>& bias,
                       at::IntArrayRef stride, at::IntArrayRef padding,
                       at::IntArrayRef dilation, bool transposed,
                       at::IntArrayRef output_padding, int64_t groups) {
  const Attributes attributes{stride,     padding,        dilation,
                              transposed, output_padding, groups};
  if (isKnown(input)) {
    const c10::MemoryFormat wanted = formatOf(input, weight);
    at::Tensor out = forwardNatively(input, weight, bias, attributes, wanted);
    if (!out.defined() && wanted != c10::MemoryFormat::Contiguous) {
      out = forwardNatively(input, weight, bias, attributes,
                            c10::MemoryFormat::Contiguous);
    }
    if (out.defined()) return out;
  }
  return forwardOnCpu(input, weight, bias, attributes);
}

// An output of the backward function, undefined where it is not wanted.
at::Tensor gradientFor(bool wanted, const at::Tensor& like,
                       at::IntArrayRef sizes, c10::MemoryFormat format) {
  return wanted ? newOutput(like, sizes, format) : at::Tensor();
}

bool backwardNatively(const at::Tensor& grad_output, const at::Tensor& input,
                      const at::Tensor& weight, const Attributes& a, Mask mask,
                      c10::MemoryFormat format, Gradients& gradients) {
  const auto plain = a.transposed
                         ? nullptr
                         : choose(input, symbols().diopiConvolution2dBackward,
                                  symbols().diopiConvolution3dBackward);
  const auto transposed =
      !a.transposed ? nullptr
                    : choose(input, symbols().diopiConvTranspose2dBackward,
                             symbols().diopiConvTranspose3dBackward);
  if (plain == nullptr && transposed == nullptr) return false;
  auto& [grad_input, grad_weight, grad_bias] = gradients;
  const int64_t channels = biasSize(weight, a);
  grad_input = gradientFor(mask[0], input, input.sizes(), format);
  grad_weight = gradientFor(mask[1], weight, weight.sizes(), format);
  grad_bias = mask[2] ? emptyContiguous({channels}, weight.scalar_type(),
                                        weight.device().index())
                      : at::Tensor();
  diopiSize_t bias_sizes{&channels, 1};
  diopiSize_t* const bias = mask[2] ? &bias_sizes : nullptr;
  const at::Tensor g = grad_output.contiguous(format);
  const at::Tensor x = input.contiguous(format);
  const at::Tensor w = weight.contiguous(format);
  CallContext context(input.device().index());
  const diopiError_t status =
      plain != nullptr
          ? plain(context, Out(grad_input), Out(grad_weight), Out(grad_bias),
                  In(g), In(x), In(w), bias, sizeArray(a.stride),
                  sizeArray(a.padding), sizeArray(a.dilation), a.groups)
          : transposed(context, Out(grad_input), Out(grad_weight),
                       Out(grad_bias), In(g), In(x), In(w), bias,
                       sizeArray(a.stride), sizeArray(a.padding),
                       sizeArray(a.dilation), sizeArray(a.output_padding),
                       a.groups);
  if (!context.accept(status, kBackward, {&grad_output, &input, &weight})) {
    return false;
  }
  fallback::countNative(kBackward);
  return true;
}

Gradients backwardOnCpu(const at::Tensor& grad_output, const at::Tensor& input,
                        const at::Tensor& weight, const Attributes& attributes,
                        Mask mask) {
  const ReferenceScope account(kBackward, input);
  const int64_t channels = biasSize(weight, attributes);
  auto [grad_input, grad_weight, grad_bias] = at::convolution_backward(
      toCpu(grad_output), toCpu(input), toCpu(weight),
      at::OptionalIntArrayRef(channels), attributes.stride, attributes.padding,
      attributes.dilation, attributes.transposed, attributes.output_padding,
      attributes.groups, mask);
  const auto back = [&input](const at::Tensor& tensor) {
    return tensor.defined() ? tensor.to(input.device()) : tensor;
  };
  return {back(grad_input), back(grad_weight), back(grad_bias)};
}

Gradients convolutionBackwardOnCpu(
    const at::Tensor& grad_output, const at::Tensor& input,
    const at::Tensor& weight, at::IntArrayRef stride, at::IntArrayRef padding,
    at::IntArrayRef dilation, bool transposed, at::IntArrayRef output_padding,
    int64_t groups, Mask mask) {
  return backwardOnCpu(
      grad_output, input, weight,
      {stride, padding, dilation, transposed, output_padding, groups}, mask);
}

Gradients convolutionBackward(const at::Tensor& grad_output,
                              const at::Tensor& input, const at::Tensor& weight,
                              at::IntArrayRef stride, at::IntArrayRef padding,
                              at::IntArrayRef dilation, bool transposed,
                              at::IntArrayRef output_padding, int64_t groups,
                              Mask mask) {
  const Attributes attributes{stride,     padding,        dilation,
                              transposed, output_padding, groups};
  if (isKnown(input)) {
    const c10::MemoryFormat wanted = formatOf(input, weight);
    Gradients gradients;
    if (backwardNatively(grad_output, input, weight, attributes, mask, wanted,
                         gradients) ||
        (wanted != c10::MemoryFormat::Contiguous &&
         backwardNatively(grad_output, input, weight, attributes, mask,
                          c10::MemoryFormat::Contiguous, gradients))) {
      return gradients;
    }
  }
  return backwardOnCpu(grad_output, input, weight, attributes, mask);
}

}  // namespace

void registerConvolution(torch::Library& library) {
  bind<kForward, convolution, convolutionOnCpu>(library);
  bind<kBackward, convolutionBackward, convolutionBackwardOnCpu>(library);
}

}  // namespace dipu::aten
