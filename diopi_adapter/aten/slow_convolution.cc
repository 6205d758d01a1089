// SPDX-License-Identifier: Apache-2.0
//
// Convolutions by the names of the CPU's algorithms. aten::convolution never
// chooses them for the device; programs may call them by name.
#include <ATen/core/Tensor.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>

#include "diopi_adapter/aten/kernels.h"
#include "diopi_adapter/runtime/handles.h"

namespace dipu::aten {
namespace {

using OptionalTensor = std::optional<at::Tensor>;

// The attributes of a convolution. An empty list is the default for all
// dimensions.
struct Attributes {
  at::IntArrayRef stride;
  at::IntArrayRef padding;
  at::IntArrayRef dilation;
  bool transposed = false;
  at::IntArrayRef output_padding;
};

void checkKernel(const at::Tensor& weight, at::IntArrayRef kernel_size) {
  TORCH_CHECK(weight.dim() == static_cast<int64_t>(kernel_size.size()) + 2 &&
                  weight.sizes().slice(2) == kernel_size,
              "expected a weight with a kernel of ", kernel_size, ", but got ",
              weight.sizes());
}

// A weight on the device suffices to get here. With an image on the CPU,
// aten::convolution would choose the CPU's algorithm, and that is this one.
void checkDevice(const at::Tensor& tensor) {
  if (tensor.defined() && tensor.device().type() != runtime::kDeviceType) {
    adapter::throwNotOnDevice(tensor);
  }
}

// Images without a sample dimension are a batch of one.
at::Tensor convolve(const at::Tensor& self, const at::Tensor& weight,
                    at::IntArrayRef kernel_size, const OptionalTensor& bias,
                    const Attributes& a) {
  checkDevice(self);
  checkDevice(weight);
  if (bias.has_value()) checkDevice(*bias);
  checkKernel(weight, kernel_size);
  const bool single = self.dim() == weight.dim() - 1;
  const std::vector<int64_t> ones(kernel_size.size(), 1);
  const std::vector<int64_t> zeros(kernel_size.size(), 0);
  const at::Tensor out = at::convolution(
      single ? self.unsqueeze(0) : self, weight, bias, a.stride, a.padding,
      a.dilation.empty() ? at::IntArrayRef(ones) : a.dilation, a.transposed,
      a.output_padding.empty() ? at::IntArrayRef(zeros) : a.output_padding,
      /*groups=*/1);
  return single ? out.squeeze(0) : out;
}

at::Tensor& store(const at::Tensor& result, at::Tensor& out) {
  at::native::resize_output(out, result.sizes());
  return out.copy_(result);
}

at::Tensor transposed(const at::Tensor& self, const at::Tensor& weight,
                      at::IntArrayRef kernel_size, const OptionalTensor& bias,
                      at::IntArrayRef stride, at::IntArrayRef padding,
                      at::IntArrayRef output_padding,
                      at::IntArrayRef dilation) {
  return convolve(self, weight, kernel_size, bias,
                  {stride, padding, dilation, true, output_padding});
}

at::Tensor& transposedOut(const at::Tensor& self, const at::Tensor& weight,
                          at::IntArrayRef kernel_size,
                          const OptionalTensor& bias, at::IntArrayRef stride,
                          at::IntArrayRef padding,
                          at::IntArrayRef output_padding,
                          at::IntArrayRef dilation, at::Tensor& out) {
  return store(transposed(self, weight, kernel_size, bias, stride, padding,
                          output_padding, dilation),
               out);
}

at::Tensor dilated(const at::Tensor& self, const at::Tensor& weight,
                   at::IntArrayRef kernel_size, const OptionalTensor& bias,
                   at::IntArrayRef stride, at::IntArrayRef padding,
                   at::IntArrayRef dilation) {
  return convolve(self, weight, kernel_size, bias, {stride, padding, dilation});
}

at::Tensor plain(const at::Tensor& self, const at::Tensor& weight,
                 at::IntArrayRef kernel_size, const OptionalTensor& bias,
                 at::IntArrayRef stride, at::IntArrayRef padding) {
  return convolve(self, weight, kernel_size, bias, {stride, padding, {}});
}

at::Tensor& plainOut(const at::Tensor& self, const at::Tensor& weight,
                     at::IntArrayRef kernel_size, const OptionalTensor& bias,
                     at::IntArrayRef stride, at::IntArrayRef padding,
                     at::Tensor& out) {
  return store(plain(self, weight, kernel_size, bias, stride, padding), out);
}

}  // namespace

void registerSlowConvolution(torch::Library& library) {
  bind<"slow_conv_transpose2d", transposed>(library);
  bind<"slow_conv_transpose2d.out", transposedOut>(library);
  bind<"slow_conv_transpose3d", transposed>(library);
  bind<"slow_conv_transpose3d.out", transposedOut>(library);
  bind<"slow_conv_dilated2d", dilated>(library);
  bind<"slow_conv_dilated3d", dilated>(library);
  bind<"_slow_conv2d_forward", plain>(library);
  bind<"_slow_conv2d_forward.output", plainOut>(library);
  bind<"slow_conv3d_forward", plain>(library);
  bind<"slow_conv3d_forward.output", plainOut>(library);
}

}  // namespace dipu::aten
