// SPDX-License-Identifier: Apache-2.0
//
// Drawing random numbers with DIOPI functions. Internal to this folder.
//
// Note [Generators in DIOPI]
// A generator handle is our PhiloxGeneratorImpl. Operator libraries use it in
// two ways: they read the state as a tensor and write the advanced state back,
// or they ask for seed and offset. Of the latter some set the new offset and
// others expect the host to advance it. Draw serves all of them: it looks at
// the offset after the call and advances it by the numbers drawn when the
// library has not.
#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <mutex>
#include <optional>

#include "core/random/generator.h"
#include "diopi_adapter/abi/diopi_host.h"

namespace dipu::aten {

// The generator argument of one call that draws `count` numbers. Holds the lock
// under which all DIOPI functions draw, since reading and advancing the state
// are separate calls of the library.
class Draw {
 public:
  Draw(const std::optional<at::Generator>& generator, c10::DeviceIndex device,
       int64_t count);
  Draw(const Draw&) = delete;
  Draw& operator=(const Draw&) = delete;

  operator diopiGeneratorHandle_t() {
    return reinterpret_cast<diopiGeneratorHandle_t>(&generator_);
  }

  // Call it once the function has succeeded.
  void finish();

 private:
  uint64_t offset() const;

  std::unique_lock<std::mutex> lock_;
  random::PhiloxGeneratorImpl& generator_;
  uint64_t count_;
  uint64_t offset_before_;
};

}  // namespace dipu::aten
