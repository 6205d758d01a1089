// SPDX-License-Identifier: Apache-2.0
//
// Mixed precision on the device.
#pragma once

#include <torch/library.h>

namespace dipu::aten {

// Adds the policies to `library`, which stands for aten on the dispatch key
// AutocastPrivateUse1. Operators without one pass unchanged.
void registerAutocast(torch::Library& library);

}  // namespace dipu::aten
