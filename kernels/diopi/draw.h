// SPDX-License-Identifier: Apache-2.0
//
// A DIOPI generator as the source of random numbers that kernels/compute takes.
// See Note [Who advances the generator] in kernels/compute/random/random.h.
#pragma once

#include <diopi/diopirt.h>

#include "kernels/compute/random/random.h"
#include "kernels/diopi/tensor_args.h"

namespace dipu::kernels::diopi {

// Calls function(source), which returns a Status, and moves the generator by
// what it took. The generator stays where it is when the call fails.
template <typename Function>
diopiError_t draw(diopiGeneratorHandle_t generator, const Function& function) {
  uint64_t seed = 0;
  uint64_t offset = 0;
  const diopiError_t status =
      diopiGeneratorGetSeedAndOffset(generator, &seed, &offset);
  if (status != diopiSuccess) {
    fail(Status::kInvalid, "the generator has no seed");
    return status;
  }
  RandomSource source(seed, offset);
  const Status drawn = function(&source);
  if (drawn != Status::kOk) return done(drawn);
  return diopiGeneratorSetSeedAndOffset(generator, seed, source.offset());
}

}  // namespace dipu::kernels::diopi
