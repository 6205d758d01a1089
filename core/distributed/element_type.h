// SPDX-License-Identifier: Apache-2.0
//
// Element types of tensors as a vendor's collectives know them.
#pragma once

#include <c10/core/ScalarType.h>

#include <cstddef>
#include <optional>

#include "core/abi/base.h"

namespace dipu::distributed {

// The contract's name for `type`; none for those that it lacks, such as float8.
std::optional<dipu_dtype> dtypeOf(c10::ScalarType type);

// How an element travels when it is only moved: as `words` of `dtype`.
struct Wire {
  dipu_dtype dtype;
  std::size_t words;
};

// The wire of `type`: itself where the vendor has it, else the widest unsigned
// integer of the vendor that elements consist of. Moving does not look at
// values, so the result is the same. Throws when the vendor has no such type.
Wire wireOf(c10::ScalarType type);

}  // namespace dipu::distributed
