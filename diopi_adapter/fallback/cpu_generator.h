// SPDX-License-Identifier: Apache-2.0
//
// CPU generators that draw in the name of a device generator.
#pragma once

#include <ATen/core/Generator.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <mutex>
#include <optional>

namespace dipu::fallback {

// A new CPU generator whose sequence is determined by the state of `generator`,
// or of the default generator of `device` when that is absent; that state is
// advanced. So torch.manual_seed and generator states govern fallbacks too, and
// the CPU's default generator is left alone.
at::Generator cpuGeneratorFor(const std::optional<at::Generator>& generator,
                              c10::DeviceIndex device);

// For operators that draw from the CPU's default generator without having an
// argument for it: lets that generator stand for the one of `device` in this
// scope, and gives it its own state back at the end. Scopes of several threads
// take turns: the constructor blocks until no other thread is in one. To be
// destroyed by the thread that made it.
class DefaultGeneratorScope {
 public:
  explicit DefaultGeneratorScope(c10::DeviceIndex device);
  // As above with numbers that `seed` determines, whatever a device has drawn.
  explicit DefaultGeneratorScope(uint64_t seed);
  ~DefaultGeneratorScope();
  DefaultGeneratorScope(const DefaultGeneratorScope&) = delete;
  DefaultGeneratorScope& operator=(const DefaultGeneratorScope&) = delete;

 private:
  std::unique_lock<std::recursive_mutex> turn_;
  at::Generator saved_;  // a copy of the CPU's default generator
};

}  // namespace dipu::fallback
