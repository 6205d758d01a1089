// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "softdevice/soft_debug.h"
#include "softdevice/tests/device_test.h"

namespace dipu::softdevice {
namespace {

class FaultTest : public DeviceTest {
 protected:
  void TearDown() override {
    EXPECT_OK(soft_fault_clear());
    DeviceTest::TearDown();
  }
  static soft_fault_info info(int32_t index) {
    soft_fault_info result{};
    EXPECT_OK(soft_fault_get_info(index, &result));
    return result;
  }
};

// Launches a kernel that counts its runs.
soft_status launchCount(soft_stream* stream, std::atomic<int>* runs,
                        const char* name = nullptr) {
  return soft_launch_named(
      stream, name,
      [](void* payload) { ++**static_cast<std::atomic<int>**>(payload); },
      &runs, sizeof(runs));
}

TEST_F(FaultTest, AllocationsBeyondALimitFail) {
  ASSERT_OK(soft_fault_add("oom_bytes=1M,device=1"));
  void* first = makeArray<char>(1, 1 << 20);
  void* second = nullptr;
  EXPECT_SOFT(SOFT_OUT_OF_MEMORY, soft_malloc(1, 1, &second));
  EXPECT_TRUE(lastMessageHas("oom_bytes=1048576")) << soft_last_message();
  EXPECT_EQ(second, nullptr);
  EXPECT_NE(makeArray<char>(0, 2 << 20), nullptr) << "device 0 has no limit";
  ASSERT_OK(soft_free(first));
  EXPECT_OK(soft_malloc(1, 1, &second)) << "what is in use counts";
  EXPECT_EQ(info(0).seen, 3u);
  EXPECT_EQ(info(0).fired, 1u);
}

TEST_F(FaultTest, TheNthAllocationFails) {
  ASSERT_OK(soft_fault_add("oom_call=2,times=2;host_oom_call=1"));
  void* ptr = nullptr;
  EXPECT_OK(soft_malloc(0, 8, &ptr));
  EXPECT_SOFT(SOFT_OUT_OF_MEMORY, soft_malloc(0, 8, &ptr));
  EXPECT_SOFT(SOFT_OUT_OF_MEMORY, soft_malloc(1, 8, &ptr));
  EXPECT_OK(soft_malloc(0, 8, &ptr));
  EXPECT_SOFT(SOFT_OUT_OF_MEMORY, soft_host_malloc(8, &ptr));
  EXPECT_OK(soft_host_malloc(8, &ptr));
  EXPECT_OK(soft_host_free(ptr));
  EXPECT_STREQ(info(1).rule, "host_oom_call=1");
  EXPECT_EQ(info(1).fired, 1u);
}

TEST_F(FaultTest, AKernelFailsWhenItsTurnComes) {
  soft_stream* stream = makeStream(0);
  std::atomic<int> runs{0};
  ASSERT_OK(soft_fault_add("launch=3,device=0"));
  EXPECT_OK(launchCount(makeStream(1), &runs));
  for (int i = 0; i < 5; ++i) EXPECT_OK(launchCount(stream, &runs, "adds"));
  EXPECT_SOFT(SOFT_LAUNCH_FAILURE, soft_stream_synchronize(stream));
  const std::string where =
      "adds: the kernel was kept from running on device 0, stream " +
      std::to_string(soft_stream_id(stream)) +
      ", by fault injection (launch=3)";
  EXPECT_TRUE(lastMessageHas(where.c_str())) << soft_last_message();
  EXPECT_TRUE(lastMessageHas("soft_device_reset")) << soft_last_message();
  ASSERT_OK(soft_device_synchronize(1));
  EXPECT_EQ(runs, 5) << "one on device 1, four of five on device 0";
  EXPECT_SOFT(SOFT_LAUNCH_FAILURE, soft_stream_synchronize(stream)) << "sticky";
  EXPECT_EQ(info(0).seen, 5u);
  EXPECT_EQ(info(0).fired, 1u);
}

TEST_F(FaultTest, ALaunchIsRefusedAtTheCall) {
  soft_stream* stream = makeStream(0);
  std::atomic<int> runs{0};
  ASSERT_OK(soft_fault_add("launch_call=2,kernel=soft"));
  EXPECT_OK(launchCount(stream, &runs, "softmax"));
  EXPECT_OK(launchCount(stream, &runs, "add"));
  EXPECT_SOFT(SOFT_LAUNCH_FAILURE, launchCount(stream, &runs, "softplus"));
  EXPECT_TRUE(lastMessageHas("'softplus'")) << soft_last_message();
  EXPECT_OK(launchCount(stream, &runs, "softmax"));
  EXPECT_OK(soft_stream_synchronize(stream)) << "not sticky";
  EXPECT_EQ(runs, 3);
}

TEST_F(FaultTest, KernelsWithoutANameAreFoundByTheirFile) {
  soft_stream* stream = makeStream(0);
  std::atomic<int> runs{0};
  ASSERT_OK(soft_fault_add("launch_call=1,kernel=fault_test+0x"));
  EXPECT_SOFT(SOFT_LAUNCH_FAILURE, launchCount(stream, &runs));
}

TEST_F(FaultTest, ALostDeviceAnswersNothing) {
  soft_stream* stream = makeStream(0);
  soft_event* event = nullptr;
  ASSERT_OK(soft_event_create(0, 0, &event));
  void* old = makeArray<char>(0, 8);
  std::atomic<int> runs{0};
  ASSERT_OK(soft_fault_add("lost=3,device=0"));
  EXPECT_OK(launchCount(stream, &runs));
  EXPECT_OK(soft_memset_async(old, 0, 8, stream));
  EXPECT_SOFT(SOFT_DEVICE_LOST, launchCount(stream, &runs));
  EXPECT_TRUE(lastMessageHas("lost=3")) << soft_last_message();
  void* ptr = nullptr;
  std::size_t free_bytes = 0;
  std::size_t total = 0;
  soft_stream* other = nullptr;
  EXPECT_SOFT(SOFT_DEVICE_LOST, launchCount(stream, &runs));
  EXPECT_SOFT(SOFT_DEVICE_LOST, soft_memset_async(old, 0, 8, stream));
  EXPECT_SOFT(SOFT_DEVICE_LOST, soft_memcpy(&total, old, 8));
  EXPECT_SOFT(SOFT_DEVICE_LOST, soft_malloc(0, 8, &ptr));
  EXPECT_SOFT(SOFT_DEVICE_LOST, soft_free(old));
  EXPECT_SOFT(SOFT_DEVICE_LOST, soft_memory_info(0, &free_bytes, &total));
  EXPECT_SOFT(SOFT_DEVICE_LOST, soft_stream_create(0, 0, 0, &other));
  EXPECT_SOFT(SOFT_DEVICE_LOST, soft_stream_get_default(0, &other));
  EXPECT_SOFT(SOFT_DEVICE_LOST, soft_stream_query(stream));
  EXPECT_SOFT(SOFT_DEVICE_LOST, soft_stream_synchronize(stream));
  EXPECT_SOFT(SOFT_DEVICE_LOST, soft_event_record(event, stream));
  EXPECT_SOFT(SOFT_DEVICE_LOST, soft_event_query(event));
  EXPECT_SOFT(SOFT_DEVICE_LOST, soft_device_synchronize(0));
  EXPECT_SOFT(SOFT_DEVICE_LOST, soft_device_get_error(0));
  EXPECT_SOFT(SOFT_DEVICE_LOST, soft_device_reset(0));
  EXPECT_EQ(runs, 1) << "what was enqueued before the loss runs";
  EXPECT_OK(launchCount(makeStream(1), &runs)) << "device 1 is not lost";
  EXPECT_OK(soft_event_destroy(event));
  EXPECT_OK(soft_stream_destroy(stream));
}

TEST_F(FaultTest, AQueryTellsOfTheLossWhileWorkStands) {
  soft_stream* stream = makeStream(0);
  std::atomic<int> runs{0};
  ASSERT_OK(soft_fault_add("hang=1"));
  ASSERT_OK(launchCount(stream, &runs));
  EXPECT_SOFT(SOFT_NOT_READY, soft_stream_query(stream));
  ASSERT_OK(soft_fault_add("lost=1"));
  EXPECT_SOFT(SOFT_DEVICE_LOST, launchCount(stream, &runs));
  EXPECT_SOFT(SOFT_DEVICE_LOST, soft_stream_query(stream));
  ASSERT_OK(soft_fault_release());
  EXPECT_SOFT(SOFT_DEVICE_LOST, soft_stream_synchronize(stream));
  EXPECT_EQ(runs, 1);
}

TEST_F(FaultTest, ALostDeviceComesBackByClearAndReset) {
  ASSERT_OK(soft_fault_add("lost=1,device=1"));
  void* ptr = nullptr;
  EXPECT_SOFT(SOFT_DEVICE_LOST, soft_malloc(1, 8, &ptr));
  EXPECT_SOFT(SOFT_DEVICE_LOST, soft_device_reset(1));
  ASSERT_OK(soft_fault_clear());
  EXPECT_SOFT(SOFT_DEVICE_LOST, soft_device_synchronize(1)) << "sticky";
  ASSERT_OK(soft_device_reset(1));
  EXPECT_OK(soft_device_synchronize(1));
  EXPECT_OK(soft_malloc(1, 8, &ptr));
}

TEST_F(FaultTest, AHungStreamStandsUntilReleased) {
  soft_stream* hung = makeStream(0);
  soft_stream* other = makeStream(0);
  const std::string id = std::to_string(soft_stream_id(hung));
  ASSERT_OK(soft_fault_add(("hang=2,stream=" + id).c_str()));
  std::atomic<int> runs{0};
  std::atomic<int> others{0};
  for (int i = 0; i < 3; ++i) ASSERT_OK(launchCount(hung, &runs));
  for (int i = 0; i < 3; ++i) ASSERT_OK(launchCount(other, &others));
  ASSERT_OK(soft_stream_synchronize(other));
  EXPECT_EQ(others, 3);
  while (runs == 0) std::this_thread::yield();
  EXPECT_SOFT(SOFT_NOT_READY, soft_stream_query(hung));
  EXPECT_EQ(runs, 1);
  ASSERT_OK(soft_fault_release());
  ASSERT_OK(soft_stream_synchronize(hung));
  EXPECT_EQ(runs, 3);
  EXPECT_EQ(info(0).fired, 1u);
}

TEST_F(FaultTest, ASlowStreamTakesItsTime) {
  soft_stream* slow = makeStream(0);
  const std::string id = std::to_string(soft_stream_id(slow));
  ASSERT_OK(soft_fault_add(("slow_us=2000,stream=" + id).c_str()));
  std::atomic<int> runs{0};
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 5; ++i) ASSERT_OK(launchCount(slow, &runs));
  ASSERT_OK(soft_stream_synchronize(slow));
  EXPECT_GE(std::chrono::steady_clock::now() - start,
            std::chrono::milliseconds(10));
  EXPECT_EQ(info(0).fired, 5u);
}

TEST_F(FaultTest, ClearedFaultsAreForgotten) {
  ASSERT_OK(soft_fault_add("launch=1,lost=1,hang=1,oom_call=1"));
  int32_t count = 0;
  ASSERT_OK(soft_fault_count(&count));
  EXPECT_EQ(count, 4);
  ASSERT_OK(soft_fault_clear());
  ASSERT_OK(soft_fault_count(&count));
  EXPECT_EQ(count, 0);
  soft_fault_info none{};
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_fault_get_info(0, &none));
  std::atomic<int> runs{0};
  soft_stream* stream = makeStream(0);
  ASSERT_OK(launchCount(stream, &runs));
  ASSERT_OK(soft_stream_synchronize(stream));
  EXPECT_EQ(runs, 1);
}

TEST_F(FaultTest, WrongTextIsExplainedAndAddsNothing) {
  const struct {
    const char* text;
    const char* problem;
  } cases[] = {
      {"", "key=value"},
      {"launch", "key=value"},
      {"explode=1", "'explode' is not known"},
      {"launch=x", "launch takes a whole number from 1"},
      {"launch=0", "launch takes a whole number from 1"},
      {"oom_bytes=4T", "oom_bytes takes bytes"},
      {"device=1", "names no fault"},
      {"launch=1;", "key=value"},
      {"launch=1,device=16", "device takes"},
      {"launch=1,stream=-1", "stream takes"},
      {"launch=1,kernel=", "kernel takes"},
      {"launch=1,times=-1", "times takes"},
      {"host_oom_call=1,device=0", "belongs to none"},
  };
  for (const auto& wrong : cases) {
    EXPECT_SOFT(SOFT_INVALID_VALUE, soft_fault_add(wrong.text)) << wrong.text;
    EXPECT_TRUE(lastMessageHas(wrong.problem)) << soft_last_message();
  }
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_fault_add(nullptr));
  EXPECT_SOFT(SOFT_INVALID_DEVICE, soft_fault_add("launch=1,device=9"));
  int32_t count = -1;
  ASSERT_OK(soft_fault_count(&count));
  EXPECT_EQ(count, 0);
}

}  // namespace
}  // namespace dipu::softdevice
