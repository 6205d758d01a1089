// SPDX-License-Identifier: Apache-2.0
//
// What the tests of the C API share.
#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

#include "softdevice/softdevice.h"

#define EXPECT_SOFT(expected, call)                                          \
  EXPECT_EQ(std::string(soft_status_name(expected)), soft_status_name(call)) \
      << #call << ": " << soft_last_message() << " "
#define EXPECT_OK(call) EXPECT_SOFT(SOFT_OK, call)
#define ASSERT_OK(call) \
  ASSERT_EQ(SOFT_OK, (call)) << #call << ": " << soft_last_message() << " "

namespace dipu::softdevice {

constexpr std::size_t kTestMemory = std::size_t{64} << 20;

// Two devices of 64 MiB, reset after each test.
class DeviceTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    setenv("SOFTDEVICE_COUNT", "2", 1);
    setenv("SOFTDEVICE_MEMORY", "64M", 1);
  }
  void TearDown() override {
    EXPECT_OK(soft_device_reset(0));
    EXPECT_OK(soft_device_reset(1));
  }

  static soft_stream* makeStream(int32_t device,
                                 uint32_t flags = SOFT_STREAM_NON_BLOCKING) {
    soft_stream* stream = nullptr;
    EXPECT_OK(soft_stream_create(device, 0, flags, &stream));
    return stream;
  }
  template <typename T>
  static T* makeArray(int32_t device, std::size_t count) {
    void* ptr = nullptr;
    EXPECT_OK(soft_malloc(device, count * sizeof(T), &ptr));
    return static_cast<T*>(ptr);
  }
};

inline bool lastMessageHas(const std::string& text) {
  return std::string(soft_last_message()).find(text) != std::string::npos;
}

// Enqueues the callable; it must be trivially copyable.
template <typename Work>
soft_status launch(soft_stream* stream, const Work& work) {
  static_assert(std::is_trivially_copyable_v<Work>);
  return soft_launch(
      stream, [](void* payload) { (*static_cast<Work*>(payload))(); }, &work,
      sizeof(Work));
}

// Holds a stream until it is opened. Opens when it goes out of scope, so that
// a failed assertion does not hang the test.
class Latch {
 public:
  ~Latch() { open(); }
  void open() {
    std::lock_guard<std::mutex> lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void waitUntilEntered() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return entered_; });
  }
  // The latch must outlive the task.
  void hold(soft_stream* stream) {
    ASSERT_OK(launch(stream, [this] { pass(); }));
  }

 private:
  void pass() {
    std::unique_lock<std::mutex> lock(mutex_);
    entered_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  bool entered_ = false;
};

}  // namespace dipu::softdevice
