// SPDX-License-Identifier: Apache-2.0
#include "core/random/generator.h"

#include <ATen/EmptyTensor.h>
#include <c10/core/TensorImpl.h>
#include <c10/util/Exception.h>

#include <array>
#include <cstring>
#include <mutex>

#include "core/runtime/device.h"

namespace dipu::random {
namespace {

// Numbers that one step of Philox makes.
constexpr uint64_t kStep = 4;

void checkOffset(uint64_t offset) {
  TORCH_CHECK_VALUE(offset % kStep == 0, "the offset of a dipu generator is a ",
                    "multiple of ", kStep, ", not ", offset);
}

struct DefaultGenerator {
  std::once_flag once;
  at::Generator generator;
};

}  // namespace

PhiloxGeneratorImpl::PhiloxGeneratorImpl(c10::DeviceIndex device)
    : c10::GeneratorImpl(c10::Device(runtime::kDeviceType, device),
                         c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)) {}

c10::DeviceType PhiloxGeneratorImpl::device_type() {
  return runtime::kDeviceType;
}

std::pair<uint64_t, uint64_t> PhiloxGeneratorImpl::reserve(uint64_t count) {
  const uint64_t first = offset_;
  offset_ += (count + kStep - 1) / kStep * kStep;
  return {seed_, first};
}

void PhiloxGeneratorImpl::set_current_seed(uint64_t seed) {
  seed_ = seed;
  offset_ = 0;
}

void PhiloxGeneratorImpl::set_offset(uint64_t offset) {
  checkOffset(offset);
  offset_ = offset;
}

uint64_t PhiloxGeneratorImpl::get_offset() const { return offset_; }

uint64_t PhiloxGeneratorImpl::current_seed() const { return seed_; }

uint64_t PhiloxGeneratorImpl::seed() {
  set_current_seed(c10::detail::getNonDeterministicRandom());
  return seed_;
}

void PhiloxGeneratorImpl::set_state(const c10::TensorImpl& new_state) {
  at::detail::check_rng_state(new_state);
  TORCH_CHECK_VALUE(new_state.numel() == static_cast<int64_t>(kStateBytes),
                    "the state of a dipu generator has ", kStateBytes,
                    " bytes (seed and offset), not ", new_state.numel(),
                    "; use what get_state of a dipu generator returned");
  std::array<uint64_t, 2> state{};
  std::memcpy(state.data(), new_state.data(), kStateBytes);
  checkOffset(state[1]);
  seed_ = state[0];
  offset_ = state[1];
}

c10::intrusive_ptr<c10::TensorImpl> PhiloxGeneratorImpl::get_state() const {
  const std::array<uint64_t, 2> state = {seed_, offset_};
  at::TensorBase tensor = at::detail::empty_cpu(
      {static_cast<int64_t>(kStateBytes)}, at::kByte, std::nullopt,
      std::nullopt, std::nullopt, std::nullopt);
  std::memcpy(tensor.mutable_data_ptr(), state.data(), kStateBytes);
  return tensor.getIntrusivePtr();
}

PhiloxGeneratorImpl* PhiloxGeneratorImpl::clone_impl() const {
  auto* copy = new PhiloxGeneratorImpl(device_.index());
  copy->seed_ = seed_;
  copy->offset_ = offset_;
  return copy;
}

const at::Generator& defaultGenerator(c10::DeviceIndex device) {
  static auto* const generators =
      new std::array<DefaultGenerator, runtime::kMaxDevices>;
  device = runtime::resolveDevice(device);
  DefaultGenerator& entry = (*generators)[device];
  std::call_once(entry.once, [&] {
    entry.generator = at::make_generator<PhiloxGeneratorImpl>(device);
  });
  return entry.generator;
}

at::Generator newGenerator(c10::DeviceIndex device) {
  return at::make_generator<PhiloxGeneratorImpl>(
      runtime::resolveDevice(device));
}

PhiloxGeneratorImpl& generatorFor(const std::optional<at::Generator>& generator,
                                  c10::DeviceIndex device) {
  return *at::get_generator_or_default<PhiloxGeneratorImpl>(
      generator, defaultGenerator(device));
}

std::pair<uint64_t, uint64_t> reserve(
    const std::optional<at::Generator>& generator, c10::DeviceIndex device,
    uint64_t count) {
  PhiloxGeneratorImpl& impl = generatorFor(generator, device);
  const std::lock_guard<std::mutex> lock(impl.mutex_);
  return impl.reserve(count);
}

}  // namespace dipu::random
