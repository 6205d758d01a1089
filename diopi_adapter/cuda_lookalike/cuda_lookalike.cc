// SPDX-License-Identifier: Apache-2.0
#include "diopi_adapter/cuda_lookalike/cuda_lookalike.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>
#include <ATen/ops/to_native.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>

#include <cstddef>
#include <mutex>
#include <optional>

#include "core/runtime/device.h"
#include "diopi_adapter/cuda_lookalike/guard.h"

namespace dipu::cuda_lookalike {
namespace {

c10::Device ours(c10::Device device) {
  return device.is_cuda() ? c10::Device(runtime::kDeviceType, device.index())
                          : device;
}

std::optional<c10::Device> ours(std::optional<c10::Device> device) {
  return device ? std::optional(ours(*device)) : std::nullopt;
}

// Serves every operator that dispatches on a CUDA device. It has no CUDA
// tensors among its arguments, since there are none, so a device argument is
// what led here.
void redirect(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  bool replaced = false;
  const auto count =
      static_cast<std::ptrdiff_t>(op.schema().arguments().size());
  for (auto value = stack->end() - count; value != stack->end(); ++value) {
    if (value->isDevice() && value->toDevice().is_cuda()) {
      *value = ours(value->toDevice());
      replaced = true;
    }
  }
  TORCH_CHECK(replaced, op.operator_name(),
              " was dispatched to CUDA without a CUDA device among its "
              "arguments; use the device \"dipu\"");
  op.callBoxed(stack);
}

at::Tensor toDevice(const at::Tensor& self, c10::Device device,
                    at::ScalarType dtype, bool non_blocking, bool copy,
                    std::optional<at::MemoryFormat> format) {
  return at::native::to(self, ours(device), dtype, non_blocking, copy, format);
}

at::Tensor toDtypeLayout(const at::Tensor& self,
                         std::optional<at::ScalarType> dtype,
                         std::optional<at::Layout> layout,
                         std::optional<c10::Device> device,
                         std::optional<bool> pin_memory, bool non_blocking,
                         bool copy, std::optional<at::MemoryFormat> format) {
  return at::native::to(self, dtype, layout, ours(device), pin_memory,
                        non_blocking, copy, format);
}

void registerTo(c10::DispatchKey key) {
  // Never destroyed: the dispatcher outlives static destructors.
  auto* library =
      new torch::Library(torch::Library::IMPL, "aten", key, __FILE__, __LINE__);
  library->impl("to.device", toDevice);
  library->impl("to.dtype_layout", toDtypeLayout);
}

void registerAll() {
  TORCH_CHECK(!c10::impl::hasDeviceGuardImpl(c10::DeviceType::CUDA),
              "cannot imitate CUDA: another library has registered a CUDA "
              "device; set DIPU_MOCK_CUDA=0");
  static const c10::impl::DeviceGuardImplRegistrar registrar(
      c10::DeviceType::CUDA, new Guard);
  auto* library = new torch::Library(
      torch::Library::IMPL, "_", c10::DispatchKey::CUDA, __FILE__, __LINE__);
  library->fallback(torch::CppFunction::makeFromBoxedFunction<&redirect>());
  registerTo(c10::DispatchKey::PrivateUse1);
  registerTo(c10::DispatchKey::AutogradPrivateUse1);
}

}  // namespace

void enable() {
  static std::once_flag once;
  std::call_once(once, registerAll);
}

}  // namespace dipu::cuda_lookalike
