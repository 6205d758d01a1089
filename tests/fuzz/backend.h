// SPDX-License-Identifier: Apache-2.0
//
// What a vendor tells the fuzzer, in its cts/fuzz_backend.cc.
#pragma once

#include <cstdint>

#include "core/abi/vendor_api.h"

namespace dipu::fuzz {

struct Backend {
  // The vendor's entry point, linked into the program.
  dipu_vendor_query_fn query;
  // Prepares the process, before the vendor is initialised. May be nullptr.
  void (*prepare)();
  // Called before each input, while nothing runs, with a number that depends on
  // the input: for what the vendor can vary behind the tables. May be nullptr.
  void (*vary)(uint64_t number);
};

const Backend& fuzzBackend();

}  // namespace dipu::fuzz
