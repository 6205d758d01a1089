// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "softdevice/soft_debug.h"
#include "tests/fuzz/backend.h"

namespace dipu::fuzz {
namespace {

void prepare() {
  setenv("SOFTDEVICE_MEMORY", "256M", 1);
  setenv("SOFTDEVICE_COUNT", "2", 1);
}

// Every other input runs under a schedule: what depends on the order in which
// streams happen to advance then shows, and shows again.
void vary(uint64_t number) {
  if (number % 2 == 0) {
    soft_schedule_clear();
  } else {
    soft_schedule_set(number);
  }
}

}  // namespace

const Backend& fuzzBackend() {
  static const Backend droplet = {dipu_vendor_query, prepare, vary};
  return droplet;
}

}  // namespace dipu::fuzz
