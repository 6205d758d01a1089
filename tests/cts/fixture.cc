// SPDX-License-Identifier: Apache-2.0
#include "tests/cts/fixture.h"

#include <cstdio>
#include <string>

#include "core/loader/loader.h"
#include "tests/cts/backend.h"

namespace dipu::cts {
namespace {

void logToStderr(dipu_log_level level, const char* message) {
  std::fprintf(stderr, "[vendor log %d] %s\n", level, message);
}

loader::Library openVendor() {
  static const dipu_host_services host = {sizeof(dipu_host_services),
                                          DIPU_ABI_VERSION, 0, logToStderr};
  loader::Library library = loader::Library::open(backend().plugin);
  EXPECT_TRUE(succeeded(library.vendor().initialize(&host)));
  return library;
}

}  // namespace

const dipu_vendor& vendor() {
  static const loader::Library library = openVendor();
  return library.vendor();
}

int32_t deviceCount() {
  int32_t count = 0;
  EXPECT_TRUE(succeeded(deviceApi().get_count(&count)));
  return count;
}

::testing::AssertionResult succeeded(dipu_error* error) {
  const ErrorPtr owner(error);
  if (error == nullptr) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << "code " << error->code << ", vendor code " << error->vendor_code
         << ": " << error->message;
}

::testing::AssertionResult failedWith(dipu_error* error,
                                      dipu_status_code code) {
  const ErrorPtr owner(error);
  if (error == nullptr) {
    return ::testing::AssertionFailure() << "the call succeeded";
  }
  if (error->message == nullptr || *error->message == '\0') {
    return ::testing::AssertionFailure() << "the error has no text";
  }
  if (error->code != code) {
    return ::testing::AssertionFailure()
           << "code " << error->code << " instead of " << code << ": "
           << error->message;
  }
  return ::testing::AssertionSuccess();
}

void VendorTest::SetUp() {
  const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
  const std::string name =
      std::string(info->test_suite_name()) + "." + info->name();
  for (const Exemption& exemption : backend().unsupported) {
    if (exemption.test == name) {
      GTEST_SKIP() << "unsupported: " << exemption.reason;
    }
  }
  ASSERT_GE(deviceCount(), backend().min_devices);
  ASSERT_TRUE(succeeded(deviceApi().set_current(0)));
}

void PeerTest::SetUp() {
  VendorTest::SetUp();
  if (deviceCount() < 2) GTEST_SKIP() << "needs two devices";
}

DeviceBuffer::DeviceBuffer(int32_t device, size_t bytes) : device_(device) {
  EXPECT_TRUE(succeeded(memoryApi().allocate(device, bytes, &pointer_)));
}

DeviceBuffer::~DeviceBuffer() { memoryApi().deallocate(device_, pointer_); }

PinnedBuffer::PinnedBuffer(size_t bytes) {
  EXPECT_TRUE(succeeded(memoryApi().host_allocate(bytes, &pointer_)));
}

PinnedBuffer::~PinnedBuffer() { memoryApi().host_deallocate(pointer_); }

Stream::Stream(int32_t device, int32_t priority) : device_(device) {
  const dipu_stream_create_args args{sizeof(args), device, priority};
  EXPECT_TRUE(succeeded(streamApi().create(&args, &handle_)));
}

Stream::~Stream() { destroy(); }

void Stream::destroy() {
  streamApi().destroy(device_, handle_);
  handle_ = nullptr;
}

bool Stream::isDone() const {
  int32_t done = -1;
  EXPECT_TRUE(succeeded(streamApi().query(handle_, &done)));
  return done == 1;
}

void Stream::synchronize() const {
  EXPECT_TRUE(succeeded(streamApi().synchronize(handle_)));
}

Event::Event(int32_t device, dipu_event_flags flags) {
  EXPECT_TRUE(succeeded(eventApi().create(device, flags, &handle_)));
}

Event::~Event() { destroy(); }

void Event::destroy() {
  eventApi().destroy(handle_);
  handle_ = nullptr;
}

bool Event::isDone() const {
  int32_t done = -1;
  EXPECT_TRUE(succeeded(eventApi().query(handle_, &done)));
  return done == 1;
}

Gate::~Gate() {
  open();
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [&] { return passed_ == held_; });
}

void Gate::hold(dipu_stream* stream) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ASSERT_TRUE(succeeded(streamApi().launch_host_func(stream, pass, this)));
  ++held_;
}

void Gate::waitUntilReached() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [&] { return reached_ == held_; });
}

void Gate::open() {
  const std::lock_guard<std::mutex> lock(mutex_);
  is_open_ = true;
  changed_.notify_all();
}

void Gate::pass(void* gate) {
  auto* self = static_cast<Gate*>(gate);
  std::unique_lock<std::mutex> lock(self->mutex_);
  ++self->reached_;
  self->changed_.notify_all();
  self->changed_.wait(lock, [&] { return self->is_open_; });
  ++self->passed_;
  self->changed_.notify_all();
}

std::vector<uint8_t> pattern(size_t bytes, uint8_t seed) {
  std::vector<uint8_t> values(bytes);
  for (size_t i = 0; i < bytes; ++i) {
    values[i] = static_cast<uint8_t>(i * 31 + (i >> 8) + seed);
  }
  return values;
}

std::vector<uint8_t> readBack(const void* pointer, int32_t device,
                              size_t bytes) {
  std::vector<uint8_t> values(bytes);
  EXPECT_TRUE(succeeded(
      memoryApi().copy(values.data(), DIPU_HOST, pointer, device, bytes)));
  return values;
}

}  // namespace dipu::cts
