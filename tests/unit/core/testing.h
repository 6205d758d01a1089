// SPDX-License-Identifier: Apache-2.0
//
// What the tests of core share.
#pragma once

#include <c10/core/Stream.h>
#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include <string>

#include "core/runtime/device.h"
#include "core/runtime/stream.h"
#include "core/runtime/vendor.h"
#include "tests/unit/core/fake_vendor.h"

namespace dipu::testing {

// Text of the `Error` that `call` throws; "" when it throws none.
template <typename Error = c10::Error, typename Call>
std::string messageOf(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what_without_backtrace();
  }
  return "";
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Tests that run on the fake vendor, on device 0.
class FakeVendorTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { runtime::adoptVendor(fakeVendor(), "fake"); }
  void SetUp() override { runtime::setDevice(0); }
};

// Holds the work of a stream for a scope.
class StreamHold {
 public:
  explicit StreamHold(const c10::Stream& stream)
      : handle_(runtime::handleOf(stream)) {
    holdStream(handle_);
  }
  ~StreamHold() { letGo(); }
  StreamHold(const StreamHold&) = delete;
  StreamHold& operator=(const StreamHold&) = delete;

  void letGo() { letStreamGo(handle_); }

 private:
  dipu_stream* handle_;
};

// Makes a stream current for a scope.
class CurrentStream {
 public:
  explicit CurrentStream(const c10::Stream& stream)
      : previous_(runtime::exchangeCurrentStream(stream)) {}
  ~CurrentStream() { runtime::exchangeCurrentStream(previous_); }
  CurrentStream(const CurrentStream&) = delete;
  CurrentStream& operator=(const CurrentStream&) = delete;

 private:
  c10::Stream previous_;
};

}  // namespace dipu::testing
