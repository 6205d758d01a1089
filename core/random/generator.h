// SPDX-License-Identifier: Apache-2.0
//
// Random numbers: Philox state, a seed and an offset into its sequence.
//
// The state is 16 bytes, [seed u64][offset u64], in a CPU byte tensor. A kernel
// that draws n numbers takes them from the counter range that reserve()
// returns, so two kernels never share a number and a run can be repeated.
#pragma once

#include <ATen/core/Generator.h>
#include <c10/core/GeneratorImpl.h>

#include <cstdint>
#include <utility>

namespace dipu::random {

// Not thread-safe by itself: hold `mutex_` while calling anything but the
// read-only functions, as with every torch generator.
class PhiloxGeneratorImpl final : public c10::GeneratorImpl {
 public:
  // Size of the state in bytes.
  static constexpr std::size_t kStateBytes = 16;

  explicit PhiloxGeneratorImpl(c10::DeviceIndex device);
  ~PhiloxGeneratorImpl() override = default;

  static c10::DeviceType device_type();

  // Takes `count` numbers, rounded up to a multiple of 4 because Philox makes
  // four at a time. Returns the seed and the offset of the first.
  std::pair<uint64_t, uint64_t> reserve(uint64_t count);

  // Sets the seed and starts its sequence from the beginning.
  void set_current_seed(uint64_t seed) override;
  // The next number to be drawn; a multiple of 4.
  void set_offset(uint64_t offset) override;
  uint64_t get_offset() const override;
  uint64_t current_seed() const override;
  // Draws a seed from the operating system, sets and returns it.
  uint64_t seed() override;
  void set_state(const c10::TensorImpl& new_state) override;
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override;

 private:
  PhiloxGeneratorImpl* clone_impl() const override;

  uint64_t seed_ = c10::default_rng_seed_val;
  uint64_t offset_ = 0;
};

// The default generator of `device`; -1 is the current device. Created when
// first asked for, lives until the process ends. Thread-safe.
const at::Generator& defaultGenerator(c10::DeviceIndex device = -1);

// A new generator of `device` with the default seed; -1 is the current device.
at::Generator newGenerator(c10::DeviceIndex device = -1);

// `generator` when given and defined, which must then be of a dipu device, else
// the default generator of `device`. What an operator draws from.
PhiloxGeneratorImpl& generatorFor(const std::optional<at::Generator>& generator,
                                  c10::DeviceIndex device);

// Locks `generator` and reserves: the usual call of an operator.
std::pair<uint64_t, uint64_t> reserve(
    const std::optional<at::Generator>& generator, c10::DeviceIndex device,
    uint64_t count);

}  // namespace dipu::random
