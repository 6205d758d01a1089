// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/backend.h"

namespace dipu::fuzz {

const Backend& fuzzBackend() {
  static const Backend none = {dipu_vendor_query, nullptr, nullptr};
  return none;
}

}  // namespace dipu::fuzz
