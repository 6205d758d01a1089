// SPDX-License-Identifier: Apache-2.0
#include "diopi_adapter/runtime/output.h"

#include <ATen/MemoryOverlap.h>
#include <ATen/native/Resize.h>
#include <c10/core/MemoryFormat.h>
#include <c10/util/Exception.h>

namespace dipu::adapter {
namespace {

void checkType(const at::Tensor& out, at::ScalarType dtype) {
  TORCH_CHECK(out.scalar_type() == dtype, "Expected out tensor to have dtype ",
              dtype, ", but got ", out.scalar_type(), " instead");
}

}  // namespace

void prepareOutput(Form form, at::Tensor& out, const OutputSpec& spec,
                   c10::DeviceIndex device) {
  if (form == Form::kFunctional) {
    out =
        spec.strides.empty()
            ? aten::emptyContiguous(spec.sizes, spec.dtype, device)
            : aten::emptyStrided(spec.sizes, spec.strides, spec.dtype, device);
    return;
  }
  checkType(out, spec.dtype);
  const c10::IntArrayRef sizes = spec.sizes;
  if (form == Form::kInplace) {
    TORCH_CHECK(out.sizes() == sizes, "output with shape ", out.sizes(),
                " doesn't match the broadcast shape ", sizes);
  } else {
    at::native::resize_output(out, sizes);
    at::assert_no_internal_overlap(out);
  }
}

void storeResult(const at::Tensor& out, const at::Tensor& result) {
  checkType(out, result.scalar_type());
  at::native::resize_output(out, result.sizes());
  out.copy_(result);
}

namespace detail {

at::Tensor makeOutput(c10::IntArrayRef sizes, c10::IntArrayRef strides,
                      const at::TensorOptions& options) {
  // A meta function may take the options from an operand on the host.
  TORCH_CHECK(
      options.device().is_privateuseone(),
      "Expected all tensors to be on the same device, but found one on ",
      options.device(), " beside one on the device. Move it with .to().");
  const at::ScalarType dtype = c10::typeMetaToScalarType(options.dtype());
  const c10::DeviceIndex device = options.device().index();
  if (!strides.empty()) {
    return aten::emptyStrided(sizes, strides, dtype, device);
  }
  const auto format = options.memory_format_opt();
  if (format.has_value() && *format != at::MemoryFormat::Contiguous &&
      *format != at::MemoryFormat::Preserve) {
    const auto packed = *format == at::MemoryFormat::ChannelsLast
                            ? c10::get_channels_last_strides_2d(sizes)
                            : c10::get_channels_last_strides_3d(sizes);
    return aten::emptyStrided(sizes, packed, dtype, device);
  }
  return aten::emptyContiguous(sizes, dtype, device);
}

void resizeOutput(const at::Tensor& out, c10::IntArrayRef sizes,
                  c10::IntArrayRef strides, const at::TensorOptions& options) {
  checkType(out, c10::typeMetaToScalarType(options.dtype()));
  TORCH_CHECK(out.device() == options.device(),
              "Expected out tensor to have device ", options.device(),
              ", but got ", out.device(), " instead");
  if (!at::native::resize_output(out, sizes)) {
    return at::assert_no_internal_overlap(out);
  }
  if (!strides.empty()) {
    out.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides);
  } else if (options.memory_format_opt().has_value()) {
    out.unsafeGetTensorImpl()->empty_tensor_restride(
        *options.memory_format_opt());
  }
}

void checkInplace(const at::Tensor& self, c10::IntArrayRef sizes,
                  const at::TensorOptions& options) {
  checkType(self, c10::typeMetaToScalarType(options.dtype()));
  TORCH_CHECK(self.device() == options.device(),
              "Expected in-place tensor to be on ", options.device(),
              ", but it is on ", self.device());
  TORCH_CHECK(self.sizes() == sizes, "Bad in-place call: input tensor size ",
              self.sizes(), " and output tensor size ", sizes, " should match");
}

at::Tensor makeProxy(const at::Tensor& out, c10::IntArrayRef sizes,
                     c10::IntArrayRef strides,
                     const at::TensorOptions& options) {
  if (strides.empty() || out.strides() == strides) return {};
  return makeOutput(sizes, strides, options);
}

}  // namespace detail
}  // namespace dipu::adapter
