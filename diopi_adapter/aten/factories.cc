// SPDX-License-Identifier: Apache-2.0
#include <ATen/Context.h>
#include <ATen/native/TensorFactories.h>
#include <ATen/ops/tril_indices.h>
#include <ATen/ops/triu_indices.h>
#include <c10/core/TensorOptions.h>

#include "core/runtime/device.h"
#include "diopi_adapter/aten/empty.h"
#include "diopi_adapter/aten/kernels.h"
#include "diopi_adapter/aten/native_call.h"
#include "diopi_adapter/runtime/handles.h"

namespace dipu::aten {
namespace {

// The device that a factory is asked for; throws on what it cannot make.
c10::DeviceIndex targetDevice(std::optional<c10::Layout> layout,
                              std::optional<c10::Device> device,
                              std::optional<bool> pin_memory) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      c10::layout_or_default(layout) == c10::Layout::Strided,
      "dipu devices hold strided tensors only, not layout ",
      c10::layout_or_default(layout), ". Keep such tensors on the CPU.");
  TORCH_CHECK(!c10::pinned_memory_or_default(pin_memory),
              "Only dense CPU tensors can be pinned");
  const c10::DeviceIndex index = device ? device->index() : -1;
  return runtime::resolveDevice(index);
}

// Honours torch.use_deterministic_algorithms for new memory.
at::Tensor filled(at::Tensor tensor) {
  const at::Context& context = at::globalContext();
  if (C10_UNLIKELY(context.deterministicAlgorithms() &&
                   context.deterministicFillUninitializedMemory())) {
    at::native::fill_empty_deterministic_(tensor);
  }
  return tensor;
}

at::Tensor emptyMemoryFormat(at::IntArrayRef sizes,
                             std::optional<c10::ScalarType> dtype,
                             std::optional<c10::Layout> layout,
                             std::optional<c10::Device> device,
                             std::optional<bool> pin_memory,
                             std::optional<c10::MemoryFormat> memory_format) {
  at::Tensor tensor = emptyContiguous(sizes, c10::dtype_or_default(dtype),
                                      targetDevice(layout, device, pin_memory));
  if (memory_format && *memory_format != c10::MemoryFormat::Contiguous) {
    tensor.unsafeGetTensorImpl()->empty_tensor_restride(*memory_format);
  }
  return filled(std::move(tensor));
}

at::Tensor emptyStridedKernel(at::IntArrayRef sizes, at::IntArrayRef strides,
                              std::optional<c10::ScalarType> dtype,
                              std::optional<c10::Layout> layout,
                              std::optional<c10::Device> device,
                              std::optional<bool> pin_memory) {
  return filled(emptyStrided(sizes, strides, c10::dtype_or_default(dtype),
                             targetDevice(layout, device, pin_memory)));
}

// Coordinates in a triangle of a matrix.
template <bool lower>
at::Tensor triangleIndices(int64_t row, int64_t col, int64_t offset,
                           std::optional<c10::ScalarType> dtype,
                           std::optional<c10::Layout> layout,
                           std::optional<c10::Device> device,
                           std::optional<bool> pin_memory) {
  constexpr const char* kLabel = lower ? "tril_indices" : "triu_indices";
  at::native::check_args(row, col, layout);
  const c10::DeviceIndex index = targetDevice(layout, device, pin_memory);
  const int64_t count =
      lower ? at::native::get_tril_size(row, col, offset)
            : row * col - at::native::get_tril_size(row, col, offset - 1);
  at::Tensor out =
      emptyContiguous({2, count}, dtype.value_or(at::kLong), index);
  const auto function = lower ? adapter::symbols().diopiExtTrilIndices
                              : adapter::symbols().diopiExtTriuIndices;
  if (function != nullptr) {
    adapter::CallContext context(index);
    if (context.accept(function(context, adapter::Out(out), row, col, offset),
                       kLabel, {&out})) {
      fallback::countNative(kLabel);
      return out;
    }
  }
  const fallback::FallbackScope account(
      kLabel, function == nullptr ? "" : adapter::refusalReason());
  const auto options = at::TensorOptions().dtype(out.scalar_type());
  out.copy_(lower ? at::tril_indices(row, col, offset, options)
                  : at::triu_indices(row, col, offset, options));
  return out;
}

}  // namespace

void registerFactories(torch::Library& library) {
  bind<"tril_indices", triangleIndices<true>>(library);
  bind<"triu_indices", triangleIndices<false>>(library);
  library.impl("empty.memory_format", emptyMemoryFormat);
  library.impl("empty_strided", emptyStridedKernel);
}

}  // namespace dipu::aten
