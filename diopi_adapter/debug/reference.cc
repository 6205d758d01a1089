// SPDX-License-Identifier: Apache-2.0
#include "diopi_adapter/debug/reference.h"

#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>
#include <memory>

#include "core/runtime/device.h"
#include "diopi_adapter/fallback/arguments.h"
#include "diopi_adapter/fallback/cpu_generator.h"

namespace dipu::debug {
namespace {

constexpr uint64_t kSeed = 0x5eed;

// Whether an integer there is a dtype.
bool takesDType(const c10::Argument& argument) {
  const c10::TypePtr& real = argument.real_type();
  const auto optional = real->cast<c10::OptionalType>();
  const auto& type = optional ? optional->getElementType() : real;
  return type->kind() == c10::TypeKind::ScalarTypeType;
}

}  // namespace

bool isRandom(adapter::SlotBase& slot) {
  const c10::OperatorHandle& op = slot.handle();
  return op.hasTag(at::Tag::nondeterministic_seeded) ||
         std::ranges::any_of(op.schema().arguments(),
                             &fallback::takesGenerator);
}

bool writesArgument(adapter::SlotBase& slot, std::size_t index) {
  const c10::FunctionSchema& schema = slot.handle().schema();
  return fallback::isWritten(schema, schema.arguments()[index]);
}

Reference::Reference(adapter::SlotBase& slot, const torch::jit::Stack& stack)
    : slot_(slot) {
  const auto& declared = slot.handle().schema().arguments();
  given_ = torch::jit::last(stack, declared.size()).vec();
  for (std::size_t i = 0; i < given_.size(); ++i) {
    const bool written = writesArgument(slot, i);
    fallback::forEachTensor(given_[i], [&](const at::Tensor& tensor) {
      if (!fallback::onDevice(tensor)) return;
      images_.add(tensor);
      if (written) written_.push_back(tensor);
    });
  }
  images_.fetch();
}

c10::IValue Reference::cpuArgument(const c10::Argument& argument,
                                   const c10::IValue& value) {
  if (fallback::takesGenerator(argument)) {
    has_generator_ = true;
    return at::detail::createCPUGenerator(kSeed);
  }
  if (value.isDevice() && value.toDevice().type() == runtime::kDeviceType) {
    return c10::Device(c10::kCPU);
  }
  if (precision_ == Precision::kDouble && value.isInt() &&
      takesDType(argument) &&
      c10::isFloatingType(static_cast<c10::ScalarType>(value.toInt()))) {
    return static_cast<int64_t>(c10::kDouble);
  }
  return fallback::mapTensors(
      value, [this](const at::Tensor& tensor) { return cpuTensor(tensor); });
}

at::Tensor Reference::cpuTensor(const at::Tensor& tensor) {
  if (!tensor.defined()) return tensor;
  const at::Tensor& host =
      fallback::onDevice(tensor) ? images_.hostOf(tensor) : tensor;
  if (precision_ == Precision::kSame || !host.is_floating_point()) return host;
  for (const auto& [image, known] : doubles_) {
    if (image.is_same(host)) return known;
  }
  at::Tensor converted = host.to(c10::kDouble);
  if (host.unsafeGetTensorImpl()->is_wrapped_number()) {
    converted.unsafeGetTensorImpl()->set_wrapped_number(true);
  }
  doubles_.emplace_back(host, converted);
  return converted;
}

void Reference::makeArguments(Precision precision) {
  precision_ = precision;
  arguments_.clear();
  doubles_.clear();
  const auto& declared = slot_.handle().schema().arguments();
  for (std::size_t i = 0; i < given_.size(); ++i) {
    arguments_.push_back(cpuArgument(declared[i], given_[i]));
  }
}

void Reference::run(Precision precision) {
  makeArguments(precision);
  std::unique_ptr<fallback::DefaultGeneratorScope> generator;
  if (!has_generator_ &&
      slot_.handle().hasTag(at::Tag::nondeterministic_seeded)) {
    generator = std::make_unique<fallback::DefaultGeneratorScope>(kSeed);
  }
  torch::jit::Stack stack = arguments_;
  adapter::computeOnCpu(slot_, &stack);
  results_ = std::move(stack);
}

bool Reference::sharesWrittenStorage(const at::Tensor& tensor) const {
  return std::ranges::any_of(written_, [&](const at::Tensor& written) {
    return written.storage().is_alias_of(tensor.storage());
  });
}

std::vector<std::size_t> Reference::changedArguments() const {
  std::vector<std::size_t> changed;
  for (std::size_t i = 0; i < given_.size(); ++i) {
    bool differs = false;
    fallback::forEachTensor(given_[i], [&](const at::Tensor& tensor) {
      if (differs || !fallback::onDevice(tensor)) return;
      differs = !sharesWrittenStorage(tensor) && images_.differs(tensor);
    });
    if (differs) changed.push_back(i);
  }
  return changed;
}

}  // namespace dipu::debug
