// SPDX-License-Identifier: Apache-2.0
//
// libFuzzer's way into the model.
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/model.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  dipu::fuzz::runInput(data, size);
  return 0;
}
