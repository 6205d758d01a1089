// SPDX-License-Identifier: Apache-2.0
//
// How a library under test calls back into the test that opens it.
#pragma once

#include <dlfcn.h>

namespace dipu::loader::testing {

constexpr char kHookSymbol[] = "dipu_test_hook";

// Calls dipu_test_hook(moment) of the program, if it has one.
inline void callHook(const char* moment) {
  using Hook = void (*)(const char*);
  const auto hook = reinterpret_cast<Hook>(dlsym(RTLD_DEFAULT, kHookSymbol));
  if (hook != nullptr) hook(moment);
}

}  // namespace dipu::loader::testing
