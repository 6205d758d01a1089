// SPDX-License-Identifier: Apache-2.0
#include "diopi_adapter/fallback/arguments.h"

#include <string>
#include <string_view>

#include "core/runtime/device.h"

namespace dipu::fallback {
namespace {

// Arguments that kernels write although the schema does not say so.
constexpr std::string_view kUndeclaredWrites[] = {"running_mean",
                                                  "running_var"};

// Arguments whose tensors PyTorch wants or takes on the host, whatever the
// device: lengths of sequences, and indices beside the tensor they index.
constexpr std::string_view kHostArguments[] = {"batch_sizes",
                                               "indices",
                                               "input_lengths",
                                               "lengths",
                                               "target_lengths",
                                               "targets",
                                               "tensor_indices_or_sections"};

bool isBackward(const c10::FunctionSchema& schema) {
  return schema.name().find("backward") != std::string::npos;
}

}  // namespace

bool onDevice(const at::Tensor& tensor) {
  return tensor.defined() && tensor.device().type() == runtime::kDeviceType;
}

bool isWritten(const c10::FunctionSchema& schema,
               const c10::Argument& argument) {
  if (argument.alias_info() != nullptr) {
    return argument.alias_info()->isWrite();
  }
  return !isBackward(schema) &&
         std::ranges::find(kUndeclaredWrites, argument.name()) !=
             std::end(kUndeclaredWrites);
}

bool takesHostTensors(const c10::Argument& argument) {
  return std::ranges::find(kHostArguments, argument.name()) !=
         std::end(kHostArguments);
}

bool takesGenerator(const c10::Argument& argument) {
  const auto optional = argument.type()->cast<c10::OptionalType>();
  const auto& type = optional ? optional->getElementType() : argument.type();
  return type->kind() == c10::TypeKind::GeneratorType;
}

}  // namespace dipu::fallback
