// SPDX-License-Identifier: Apache-2.0
#include "diopi_adapter/fallback/cpu_generator.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/Tensor.h>

#include <mutex>

#include "core/random/generator.h"

namespace dipu::fallback {
namespace {

// One Philox block: enough to give every call a seed of its own.
constexpr uint64_t kReserved = 4;

// The finaliser of splitmix64: neighbouring inputs give unrelated outputs.
uint64_t mix(uint64_t value) {
  value += 0x9e3779b97f4a7c15ULL;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
  return value ^ (value >> 31);
}

uint64_t drawSeed(const std::optional<at::Generator>& generator,
                  c10::DeviceIndex device) {
  const auto [seed, offset] = random::reserve(generator, device, kReserved);
  return mix(seed ^ mix(offset));
}

// Held by the scopes of one thread, which may be nested, at a time. Never
// destroyed: threads may outlive static objects.
std::recursive_mutex& scopeMutex() {
  static auto* const mutex = new std::recursive_mutex;
  return *mutex;
}

}  // namespace

at::Generator cpuGeneratorFor(const std::optional<at::Generator>& generator,
                              c10::DeviceIndex device) {
  return at::detail::createCPUGenerator(drawSeed(generator, device));
}

DefaultGeneratorScope::DefaultGeneratorScope(c10::DeviceIndex device)
    : DefaultGeneratorScope(drawSeed(std::nullopt, device)) {}

DefaultGeneratorScope::DefaultGeneratorScope(uint64_t seed)
    : turn_(scopeMutex()) {
  at::Generator cpu = at::detail::getDefaultCPUGenerator();
  const std::lock_guard<std::mutex> lock(cpu.mutex());
  saved_ = cpu.clone();
  cpu.set_current_seed(seed);
}

DefaultGeneratorScope::~DefaultGeneratorScope() {
  at::Generator cpu = at::detail::getDefaultCPUGenerator();
  const std::lock_guard<std::mutex> lock(cpu.mutex());
  cpu.set_state(saved_.get_state());
}

}  // namespace dipu::fallback
