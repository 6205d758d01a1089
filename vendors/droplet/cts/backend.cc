// SPDX-License-Identifier: Apache-2.0
#include "tests/cts/backend.h"

namespace dipu::cts {

const Backend& backend() {
  static const auto* droplet = new Backend{
      "vendors/droplet/dist/libdipu_droplet.so",
      /*min_devices=*/2,
      /*unsupported=*/{},
      /*expected_failures=*/{},
  };
  return *droplet;
}

}  // namespace dipu::cts
