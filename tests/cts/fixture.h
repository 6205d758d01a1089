// SPDX-License-Identifier: Apache-2.0
//
// What the tests of the suite share: the vendor's tables, owners for handles,
// and a gate that holds a stream.
#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "core/abi/vendor_api.h"
#include "core/plugin_kit/error.h"

namespace dipu::cts {

using plugin_kit::ErrorPtr;

// The tables of the vendor under test, opened and initialised once.
const dipu_vendor& vendor();
int32_t deviceCount();

inline const dipu_device_api& deviceApi() { return *vendor().device; }
inline const dipu_memory_api& memoryApi() { return *vendor().memory; }
inline const dipu_stream_api& streamApi() { return *vendor().stream; }
inline const dipu_event_api& eventApi() { return *vendor().event; }

// EXPECT_TRUE(succeeded(call)) prints the error's text.
::testing::AssertionResult succeeded(dipu_error* error);
// Whether `error` has the code and a text.
::testing::AssertionResult failedWith(dipu_error* error, dipu_status_code code);

// Base of all suites: skips what the vendor does not support.
class VendorTest : public ::testing::Test {
 protected:
  void SetUp() override;
};

// Tests that need two devices.
class PeerTest : public VendorTest {
 protected:
  void SetUp() override;
};

// Owners. Each fails the test when it cannot make its handle.

class DeviceBuffer {
 public:
  DeviceBuffer(int32_t device, size_t bytes);
  ~DeviceBuffer();
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  void* get() const { return pointer_; }
  int32_t device() const { return device_; }

 private:
  int32_t device_;
  void* pointer_ = nullptr;
};

class PinnedBuffer {
 public:
  explicit PinnedBuffer(size_t bytes);
  ~PinnedBuffer();
  PinnedBuffer(const PinnedBuffer&) = delete;
  PinnedBuffer& operator=(const PinnedBuffer&) = delete;
  uint8_t* get() const { return static_cast<uint8_t*>(pointer_); }

 private:
  void* pointer_ = nullptr;
};

class Stream {
 public:
  explicit Stream(int32_t device, int32_t priority = 0);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  dipu_stream* get() const { return handle_; }
  // Destroys it now, with whatever is enqueued.
  void destroy();
  bool isDone() const;
  void synchronize() const;

 private:
  int32_t device_;
  dipu_stream* handle_ = nullptr;
};

class Event {
 public:
  explicit Event(int32_t device, dipu_event_flags flags = 0);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  dipu_event* get() const { return handle_; }
  void destroy();
  bool isDone() const;

 private:
  dipu_event* handle_ = nullptr;
};

// Holds whatever is enqueued behind it until it is opened. It opens when it
// goes out of scope, and waits until the stream has let go of it.
class Gate {
 public:
  Gate() = default;
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  // Enqueues the gate; needs launch_host_func, see requireHostFunctions().
  void hold(dipu_stream* stream);
  // Blocks until the stream has come to the gate.
  void waitUntilReached();
  void open();

 private:
  static void pass(void* gate);

  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  bool is_open_ = false;
  int held_ = 0;
  int reached_ = 0;
  int passed_ = 0;
};

// For the start of tests that hold a stream.
#define DIPU_REQUIRE_HOST_FUNCTIONS()                         \
  if (!DIPU_HAS(&::dipu::cts::streamApi(), launch_host_func)) \
  GTEST_SKIP() << "the vendor has no launch_host_func"

// `bytes` bytes that depend on `seed`.
std::vector<uint8_t> pattern(size_t bytes, uint8_t seed);

// The contents of device memory.
std::vector<uint8_t> readBack(const void* pointer, int32_t device,
                              size_t bytes);

}  // namespace dipu::cts
