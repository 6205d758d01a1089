// SPDX-License-Identifier: Apache-2.0
//
// dipu_device_api.
#include <cstddef>
#include <cstring>
#include <set>
#include <string>
#include <thread>

#include "tests/cts/fixture.h"

namespace dipu::cts {
namespace {

class Device : public VendorTest {};
class DevicePeer : public PeerTest {};

TEST_F(Device, CurrentDeviceBelongsToTheThread) {
  const int32_t last = deviceCount() - 1;
  ASSERT_TRUE(succeeded(deviceApi().set_current(last)));
  int32_t seen = -1;
  std::thread([&] {
    EXPECT_TRUE(succeeded(deviceApi().set_current(0)));
    EXPECT_TRUE(succeeded(deviceApi().get_current(&seen)));
  }).join();
  EXPECT_EQ(seen, 0);
  EXPECT_TRUE(succeeded(deviceApi().get_current(&seen)));
  EXPECT_EQ(seen, last);
}

TEST_F(Device, OtherCallsLeaveTheCurrentDevice) {
  const int32_t last = deviceCount() - 1;
  const DeviceBuffer buffer(last, 64);
  const Stream stream(last);
  const Event event(last);
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  EXPECT_TRUE(succeeded(memoryApi().get_info(last, &free_bytes, &total_bytes)));
  EXPECT_TRUE(succeeded(deviceApi().synchronize(last)));
  int32_t seen = -1;
  EXPECT_TRUE(succeeded(deviceApi().get_current(&seen)));
  EXPECT_EQ(seen, 0);
}

TEST_F(Device, RefusesAnInvalidIndex) {
  for (const int32_t device : {deviceCount(), -2}) {
    EXPECT_TRUE(
        failedWith(deviceApi().set_current(device), DIPU_INVALID_ARGUMENT));
    EXPECT_TRUE(
        failedWith(deviceApi().synchronize(device), DIPU_INVALID_ARGUMENT));
    void* pointer = &pointer;
    EXPECT_TRUE(failedWith(memoryApi().allocate(device, 16, &pointer),
                           DIPU_INVALID_ARGUMENT));
    EXPECT_EQ(pointer, &pointer) << "outputs are untouched on error";
    dipu_stream* stream = nullptr;
    const dipu_stream_create_args args{sizeof(args), device, 0};
    EXPECT_TRUE(
        failedWith(streamApi().create(&args, &stream), DIPU_INVALID_ARGUMENT));
    EXPECT_TRUE(failedWith(streamApi().get_default(device, &stream),
                           DIPU_INVALID_ARGUMENT));
    dipu_event* event = nullptr;
    EXPECT_TRUE(failedWith(eventApi().create(device, 0, &event),
                           DIPU_INVALID_ARGUMENT));
  }
}

TEST_F(Device, ErrorsNameTheValue) {
  const ErrorPtr error(deviceApi().set_current(1234));
  ASSERT_NE(error, nullptr);
  EXPECT_NE(std::string(error->message).find("1234"), std::string::npos)
      << error->message;
}

TEST_F(Device, DescribesItself) {
  for (int32_t device = 0; device < deviceCount(); ++device) {
    dipu_device_properties properties{};
    properties.struct_size = sizeof(properties);
    ASSERT_TRUE(succeeded(deviceApi().get_properties(device, &properties)));
    EXPECT_NE(properties.name[0], '\0');
    EXPECT_GT(properties.total_memory, 0u);
    EXPECT_GT(properties.multi_processor_count, 0);
    EXPECT_EQ(properties.struct_size, sizeof(properties));
  }
}

TEST_F(Device, FillsOnlyWhatAnOlderHostKnows) {
  dipu_device_properties properties;
  std::memset(&properties, 0x5a, sizeof(properties));
  constexpr size_t kKnown = offsetof(dipu_device_properties, major);
  properties.struct_size = kKnown;
  ASSERT_TRUE(succeeded(deviceApi().get_properties(0, &properties)));
  EXPECT_GT(properties.total_memory, 0u);
  const auto* bytes = reinterpret_cast<const uint8_t*>(&properties);
  for (size_t i = kKnown; i < sizeof(properties); ++i) {
    ASSERT_EQ(bytes[i], 0x5a) << "byte " << i << " was written";
  }
}

TEST_F(Device, SynchronizeWaitsForAllStreams) {
  DIPU_REQUIRE_HOST_FUNCTIONS();
  const Stream first(0);
  const Stream second(0);
  bool done[2] = {false, false};
  const auto set = [](void* flag) { *static_cast<bool*>(flag) = true; };
  Gate gate;
  gate.hold(first.get());
  gate.hold(second.get());
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(succeeded(streamApi().launch_host_func(
        (i == 0 ? first : second).get(), set, &done[i])));
  }
  gate.waitUntilReached();
  gate.open();
  EXPECT_TRUE(succeeded(deviceApi().synchronize(0)));
  EXPECT_TRUE(done[0]);
  EXPECT_TRUE(done[1]);
}

TEST_F(Device, ResetFreesEverythingAndTheDeviceGoesOn) {
  if (!DIPU_HAS(&deviceApi(), reset)) GTEST_SKIP() << "the vendor has no reset";
  ASSERT_TRUE(succeeded(deviceApi().reset(0)));
  constexpr size_t kBytes = size_t{1} << 20;
  void* lost = nullptr;
  dipu_stream* stream = nullptr;
  ASSERT_TRUE(succeeded(memoryApi().allocate(0, kBytes, &lost)));
  ASSERT_TRUE(succeeded(streamApi().get_default(0, &stream)));
  ASSERT_TRUE(succeeded(memoryApi().set_async(lost, 0, 1, kBytes, stream)));
  ASSERT_TRUE(succeeded(deviceApi().reset(0)));
  if (DIPU_HAS(&memoryApi(), get_pointer_info)) {
    dipu_pointer_info info{};
    info.struct_size = sizeof(info);
    ASSERT_TRUE(succeeded(memoryApi().get_pointer_info(lost, &info)));
    EXPECT_EQ(info.kind, DIPU_MEMORY_UNKNOWN);
  }
  // The default stream is a new one.
  const DeviceBuffer buffer(0, 64);
  ASSERT_TRUE(succeeded(streamApi().get_default(0, &stream)));
  ASSERT_TRUE(succeeded(memoryApi().set_async(buffer.get(), 0, 7, 64, stream)));
  ASSERT_TRUE(succeeded(streamApi().synchronize(stream)));
  EXPECT_EQ(readBack(buffer.get(), 0, 64), std::vector<uint8_t>(64, 7));
}

TEST_F(DevicePeer, AccessMayBeEnabledTwice) {
  if (!DIPU_HAS(&deviceApi(), can_access_peer) ||
      !DIPU_HAS(&deviceApi(), enable_peer_access)) {
    GTEST_SKIP() << "the vendor has no peer access";
  }
  int32_t accessible = -1;
  ASSERT_TRUE(succeeded(deviceApi().can_access_peer(0, 1, &accessible)));
  if (accessible == 0) GTEST_SKIP() << "devices 0 and 1 are not peers";
  EXPECT_TRUE(succeeded(deviceApi().enable_peer_access(0, 1)));
  EXPECT_TRUE(succeeded(deviceApi().enable_peer_access(0, 1)));
  if (DIPU_HAS(&deviceApi(), disable_peer_access)) {
    EXPECT_TRUE(succeeded(deviceApi().disable_peer_access(0, 1)));
  }
}

}  // namespace
}  // namespace dipu::cts
