// SPDX-License-Identifier: Apache-2.0
#include "diopi_adapter/fallback/cpu_fallback.h"

#include <ATen/EmptyTensor.h>
#include <ATen/ops/as_strided.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/resize.h>

#include <atomic>
#include <memory>
#include <string_view>

#include "core/runtime/device.h"
#include "core/runtime/memory.h"
#include "diopi_adapter/fallback/accounting.h"
#include "diopi_adapter/fallback/arguments.h"
#include "diopi_adapter/fallback/counters.h"
#include "diopi_adapter/fallback/cpu_generator.h"
#include "diopi_adapter/fallback/host_images.h"

namespace dipu::fallback {
namespace {

constexpr char kSameDevice[] =
    "Expected all tensors to be on the same device, but found at least two "
    "devices, ";

std::atomic<bool> g_in_place{true};

Access access() {
  return g_in_place.load(std::memory_order_relaxed) ? Access::kInPlace
                                                    : Access::kCopy;
}

// One call; the steps are in the order of run().
class FallbackCall {
 public:
  FallbackCall(const c10::OperatorHandle& op, torch::jit::Stack* stack)
      : op_(op),
        schema_(op.schema()),
        stack_(stack),
        arguments_(torch::jit::last(*stack, schema_.arguments().size()).vec()) {
  }

  void run(std::string_view reason) {
    checkKernel();
    findDevice();
    const runtime::DeviceScope scope(device_);
    const FallbackScope account(operatorLabel(schema_.operator_name()), reason);
    moveArguments();
    callCpu();
    writeBack();
    moveResults();
  }

 private:
  void checkKernel() const {
    TORCH_CHECK_NOT_IMPLEMENTED(
        op_.hasComputedKernelForDispatchKey(c10::DispatchKey::CPU), "operator ",
        schema_.operator_name(),
        " has no kernel for dipu and none for the CPU to fall back to. Use "
        "other operators, or move the computation to the CPU.");
  }

  // The device of the tensor arguments, else of a device argument, else the
  // current one.
  void findDevice() {
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      const c10::IValue& argument = arguments_[i];
      const bool read = !schema_.arguments()[i].is_out();
      TORCH_CHECK_NOT_IMPLEMENTED(!argument.isStorage() && !argument.isStream(),
                                  "operator ", schema_.operator_name(),
                                  " takes a ", argument.tagKind(),
                                  ", so it cannot fall back to the CPU");
      forEachTensor(argument, [&](const at::Tensor& tensor) {
        if (onDevice(tensor)) useTensor(tensor, read);
      });
    }
    if (device_ >= 0) checkOthers();
    for (const c10::IValue& argument : arguments_) {
      if (device_ < 0 && argument.isDevice()) {
        device_ = argument.toDevice().index();
      }
    }
    device_ = runtime::resolveDevice(device_);
  }

  // Beside device tensors those of the host stand for numbers only.
  void checkOthers() const {
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      if (takesHostTensors(schema_.arguments()[i])) continue;
      forEachTensor(arguments_[i], [&](const at::Tensor& tensor) {
        const bool fits = !tensor.defined() || onDevice(tensor);
        TORCH_CHECK(fits || tensor.dim() == 0, kSameDevice,
                    c10::Device(runtime::kDeviceType, device_), " and ",
                    tensor.device(), ", in ", schema_.operator_name());
      });
    }
  }

  void useTensor(const at::Tensor& tensor, bool read) {
    const c10::DeviceIndex device = tensor.device().index();
    if (device_ < 0) device_ = device;
    TORCH_CHECK(device_ == device, kSameDevice,
                c10::Device(runtime::kDeviceType, device_), " and ",
                tensor.device(), ", in ", schema_.operator_name());
    images_.add(tensor, read);
  }

  void moveArguments() {
    images_.fetch();
    torch::jit::drop(*stack_, arguments_.size());
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      stack_->push_back(cpuArgument(schema_.arguments()[i], arguments_[i]));
    }
  }

  c10::IValue cpuArgument(const c10::Argument& argument,
                          const c10::IValue& value) {
    if (takesGenerator(argument)) {
      draws_ = true;
      return cpuGeneratorFor(
          value.isNone() ? std::nullopt : std::optional(value.toGenerator()),
          device_);
    }
    if (value.isDevice() && value.toDevice().type() == runtime::kDeviceType) {
      return c10::Device(c10::kCPU);
    }
    return mapTensors(value, [this](const at::Tensor& tensor) {
      return onDevice(tensor) ? images_.hostOf(tensor) : tensor;
    });
  }

  void callCpu() {
    std::unique_ptr<DefaultGeneratorScope> generator;
    if (!draws_ && op_.hasTag(at::Tag::nondeterministic_seeded)) {
      generator = std::make_unique<DefaultGeneratorScope>(device_);
    }
    op_.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack_);
  }

  void writeBack() const {
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      if (!isWritten(schema_, schema_.arguments()[i])) continue;
      forEachTensor(arguments_[i], [this](const at::Tensor& tensor) {
        if (!onDevice(tensor)) return;
        if (images_.isInPlace(tensor)) {
          tellWritten(tensor);
        } else {
          writeBack(tensor, images_.hostOf(tensor));
        }
      });
    }
  }

  static void writeBack(const at::Tensor& device, const at::Tensor& host) {
    if (device.sizes() != host.sizes()) device.resize_(host.sizes());
    if (device.strides() != host.strides() &&
        host.is_non_overlapping_and_dense()) {
      device.as_strided_(host.sizes(), host.strides());
    }
    device.copy_(host);
  }

  static void tellWritten(const at::Tensor& device) {
    runtime::tellHostWrites(
        device.mutable_data_ptr(),
        at::detail::computeStorageNbytes(device.sizes(), device.strides(),
                                         device.element_size()),
        device.device().index());
  }

  void moveResults() const {
    const std::size_t count = schema_.returns().size();
    const auto first = stack_->end() - static_cast<std::ptrdiff_t>(count);
    for (auto result = first; result != stack_->end(); ++result) {
      *result = mapTensors(*result, [this](const at::Tensor& tensor) {
        return deviceResult(tensor);
      });
    }
  }

  at::Tensor deviceResult(const at::Tensor& host) const {
    if (!host.defined() || !host.is_cpu()) return host;
    TORCH_CHECK_NOT_IMPLEMENTED(
        host.layout() == c10::Layout::Strided && !host.is_quantized(),
        "operator ", schema_.operator_name(), " gives a ",
        host.is_quantized() ? "quantized tensor" : "tensor of layout ",
        host.is_quantized() ? "" : c10::str(host.layout()),
        ", which dipu cannot hold. Call it on a CPU tensor.");
    if (at::Tensor same = images_.deviceOf(host); same.defined()) return same;
    if (at::Tensor view = images_.deviceViewOf(host); view.defined()) {
      return view;
    }
    const auto options =
        host.options().device(c10::Device(runtime::kDeviceType, device_));
    at::Tensor result =
        host.is_non_overlapping_and_dense()
            ? at::empty_strided(host.sizes(), host.strides(), options)
            : at::empty(host.sizes(), options);
    result.copy_(host);
    return result;
  }

  const c10::OperatorHandle& op_;
  const c10::FunctionSchema& schema_;
  torch::jit::Stack* stack_;
  std::vector<c10::IValue> arguments_;  // as they were given
  HostImages images_{access()};
  c10::DeviceIndex device_ = -1;
  bool draws_ = false;  // an argument is a generator
};

}  // namespace

void setInPlace(bool allowed) {
  g_in_place.store(allowed, std::memory_order_relaxed);
}

void cpuFallback(const c10::OperatorHandle& op, torch::jit::Stack* stack,
                 std::string_view reason) {
  FallbackCall(op, stack).run(reason);
}

void cpuFallback(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  cpuFallback(op, stack, {});
}

void refuseLayout(const c10::OperatorHandle& op, torch::jit::Stack*) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      false, "operator ", op.schema().operator_name(),
      " was called with a sparse, quantized or nested tensor on dipu, which "
      "holds dense tensors only. Keep such tensors on the CPU, or make them "
      "dense first (to_dense(), dequantize(), to_padded_tensor()).");
}

}  // namespace dipu::fallback
