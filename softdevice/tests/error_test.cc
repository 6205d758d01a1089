// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>
#include <thread>

#include "softdevice/tests/device_test.h"

namespace dipu::softdevice {
namespace {

class ErrorTest : public DeviceTest {
 protected:
  // The stream's sticky error, which a device reset must clear again.
  static std::string stickyText(soft_stream* stream, soft_status expected) {
    EXPECT_SOFT(expected, soft_stream_synchronize(stream));
    EXPECT_SOFT(expected, soft_device_synchronize(0));
    EXPECT_SOFT(expected, soft_device_get_error(0));
    const std::string text = soft_last_message();
    EXPECT_OK(soft_device_synchronize(1)) << "the other device is unharmed";
    EXPECT_OK(soft_device_reset(0));
    EXPECT_OK(soft_device_get_error(0));
    return text;
  }
  static std::string address(const void* ptr) {
    char text[32];
    std::snprintf(text, sizeof(text), "%p", ptr);
    return text;
  }
};

TEST_F(ErrorTest, HostMemoryIsIllegalInAKernel) {
  soft_stream* stream = makeStream(0);
  int host = 0;
  EXPECT_EQ(soft_translate(stream, &host, sizeof(host)), nullptr);
  const std::string text = stickyText(stream, SOFT_ILLEGAL_ADDRESS);
  EXPECT_NE(text.find(address(&host)), std::string::npos) << text;
  EXPECT_NE(text.find("host memory"), std::string::npos) << text;
}

TEST_F(ErrorTest, TheFailureKeepsItsPlaceInTheStream) {
  soft_stream* stream = makeStream(0);
  int host = 0;
  Latch latch;
  latch.hold(stream);
  EXPECT_EQ(soft_translate(stream, &host, sizeof(host)), nullptr);
  EXPECT_OK(soft_device_get_error(0)) << "it has not happened yet";
  latch.open();
  stickyText(stream, SOFT_ILLEGAL_ADDRESS);
}

TEST_F(ErrorTest, AFailureNamesItsTask) {
  soft_stream* stream = makeStream(0);
  auto failing = [](void*) { soft_task_fail(SOFT_LAUNCH_FAILURE, "too big"); };
  ASSERT_OK(soft_launch_named(stream, "scale<float>", failing, nullptr, 0));
  EXPECT_EQ(stickyText(stream, SOFT_LAUNCH_FAILURE), "scale<float>: too big");
}

TEST_F(ErrorTest, AFailureWithoutAMessage) {
  soft_stream* stream = makeStream(0);
  auto failing = [](void*) { soft_task_fail(SOFT_LAUNCH_FAILURE, nullptr); };
  ASSERT_OK(soft_launch_named(stream, "silent", failing, nullptr, 0));
  EXPECT_EQ(stickyText(stream, SOFT_LAUNCH_FAILURE), "silent: no reason given");
}

TEST_F(ErrorTest, MemoryOfAPeerNeedsAccess) {
  soft_stream* stream = makeStream(0);
  auto* data = makeArray<int>(1, 16);
  int32_t accessible = 0;
  ASSERT_OK(soft_device_can_access_peer(0, 1, &accessible));
  EXPECT_EQ(accessible, 1);
  EXPECT_EQ(soft_translate(stream, data, 64), nullptr);
  EXPECT_NE(stickyText(stream, SOFT_ILLEGAL_ADDRESS).find("peer access"),
            std::string::npos);
  stream = makeStream(0);
  ASSERT_OK(soft_device_enable_peer_access(0, 1));
  EXPECT_EQ(soft_translate(stream, data, 64),
            soft_translate(makeStream(1), data, 64));
  ASSERT_OK(soft_device_disable_peer_access(0, 1));
  EXPECT_EQ(soft_translate(stream, data, 64), nullptr);
  stickyText(stream, SOFT_ILLEGAL_ADDRESS);
  EXPECT_SOFT(SOFT_INVALID_DEVICE, soft_device_enable_peer_access(0, 0));
  EXPECT_SOFT(SOFT_INVALID_DEVICE, soft_device_enable_peer_access(0, 2));
}

TEST_F(ErrorTest, FreedMemoryIsIllegal) {
  soft_stream* stream = makeStream(0);
  auto* data = makeArray<char>(0, 4 << 20);
  ASSERT_OK(soft_free(data));
  EXPECT_EQ(soft_translate(stream, data, 16), nullptr);
  EXPECT_NE(stickyText(stream, SOFT_ILLEGAL_ADDRESS).find("not allocated"),
            std::string::npos);
}

TEST_F(ErrorTest, PinnedMemoryTranslatesToItself) {
  soft_stream* stream = makeStream(0);
  void* pinned = nullptr;
  ASSERT_OK(soft_host_malloc(100, &pinned));
  EXPECT_EQ(soft_translate(stream, pinned, 100), pinned);
  EXPECT_OK(soft_stream_synchronize(stream));
  ASSERT_OK(soft_host_free(pinned));
}

TEST_F(ErrorTest, ATaskCanFailTheDevice) {
  soft_stream* stream = makeStream(0);
  ASSERT_OK(launch(stream, [] {
    soft_task_fail(SOFT_LAUNCH_FAILURE, "first");
    soft_task_fail(SOFT_ILLEGAL_ADDRESS, "second");
  }));
  EXPECT_EQ(stickyText(stream, SOFT_LAUNCH_FAILURE), "first");
}

TEST_F(ErrorTest, AnExceptionInATaskFailsTheDevice) {
  soft_stream* stream = makeStream(0);
  ASSERT_OK(launch(stream, [] { throw std::runtime_error("out of ideas"); }));
  EXPECT_EQ(stickyText(stream, SOFT_LAUNCH_FAILURE), "out of ideas");
}

TEST_F(ErrorTest, SoDoesAnythingElseThatATaskThrows) {
  soft_stream* stream = makeStream(0);
  ASSERT_OK(launch(stream, [] { throw 1; }));
  EXPECT_NE(stickyText(stream, SOFT_LAUNCH_FAILURE).find("threw"),
            std::string::npos);
}

TEST_F(ErrorTest, ATaskThatThrowsGivesItsTeamBack) {
  soft_stream* thrower = makeStream(0);
  soft_stream* other = makeStream(0);
  ASSERT_OK(launch(thrower, [] {
    soft_team_begin();
    soft_team_begin();
    throw std::runtime_error("in a team");
  }));
  EXPECT_SOFT(SOFT_LAUNCH_FAILURE, soft_stream_synchronize(thrower));
  static int32_t threads;
  threads = 0;
  ASSERT_OK(launch(other, [] {
    threads = soft_team_begin();
    soft_team_end();
  }));
  EXPECT_SOFT(SOFT_LAUNCH_FAILURE, soft_stream_synchronize(other));
  EXPECT_GE(threads, 1);
  ASSERT_OK(soft_device_reset(0));
}

TEST_F(ErrorTest, MessagesBelongToTheirThread) {
  EXPECT_SOFT(SOFT_INVALID_DEVICE, soft_device_synchronize(5));
  const std::string mine = soft_last_message();
  EXPECT_NE(mine.find("no device 5"), std::string::npos) << mine;
  std::thread other([] { EXPECT_STREQ(soft_last_message(), ""); });
  other.join();
  EXPECT_EQ(mine, soft_last_message());
}

TEST_F(ErrorTest, ResetFreesMemoryAndEndsStreams) {
  soft_stream* stream = makeStream(0);
  soft_stream* first = nullptr;
  ASSERT_OK(soft_stream_get_default(0, &first));
  makeArray<char>(0, kTestMemory);
  ASSERT_OK(soft_device_reset(0));
  EXPECT_SOFT(SOFT_INVALID_HANDLE, soft_stream_query(stream));
  EXPECT_OK(soft_stream_query(first));
  std::size_t free_bytes = 0;
  std::size_t total = 0;
  ASSERT_OK(soft_memory_info(0, &free_bytes, &total));
  EXPECT_EQ(free_bytes, total);
}

TEST_F(ErrorTest, StatusNamesAreComplete) {
  for (soft_status status = SOFT_OK; status <= SOFT_NOT_PERMITTED; ++status) {
    EXPECT_STRNE(soft_status_name(status), "SOFT_UNKNOWN_STATUS") << status;
  }
  EXPECT_STREQ(soft_status_name(12345), "SOFT_UNKNOWN_STATUS");
}

}  // namespace
}  // namespace dipu::softdevice
