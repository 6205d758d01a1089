// SPDX-License-Identifier: Apache-2.0
//
// A library that starts a thread and then declines to serve.
#include <thread>

#include "core/abi/vendor_api.h"
#include "core/loader/tests/hook.h"

namespace {

[[gnu::constructor]] void startThread() {
  std::thread([] {
    dipu::loader::testing::callHook("wait");
    dipu::loader::testing::callHook("go on");
  }).detach();
}

}  // namespace

const dipu_vendor* dipu_vendor_query(uint32_t) { return nullptr; }
