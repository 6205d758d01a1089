// SPDX-License-Identifier: Apache-2.0
//
// A refused library may have threads of its own; they must not find their code
// gone.
#include <gtest/gtest.h>

#include <future>
#include <string>

#include "core/loader/loader.h"

namespace {

std::promise<void>& refused() {
  static auto* const promise = new std::promise<void>;
  return *promise;
}

std::promise<void>& wentOn() {
  static auto* const promise = new std::promise<void>;
  return *promise;
}

TEST(BusyRefused, ItsThreadsGoOn) {
  EXPECT_THROW(
      dipu::loader::Library::open("core/loader/tests/libbusy_refused.so"),
      dipu::loader::LoadError);
  refused().set_value();
  wentOn().get_future().wait();
}

}  // namespace

// Called by the library's thread.
extern "C" void dipu_test_hook(const char* moment) {
  if (std::string(moment) == "wait") {
    refused().get_future().wait();
  } else {
    wentOn().set_value();
  }
}
