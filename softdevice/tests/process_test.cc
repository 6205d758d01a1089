// SPDX-License-Identifier: Apache-2.0
//
// The device and the life of its process: fork, exit, wrong settings.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>

#include "softdevice/tests/device_test.h"

namespace dipu::softdevice {
namespace {

// Exit status of a forked child, which gets `seconds` until it is killed.
int runInChild(const std::function<void()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    body();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

void expect(bool condition, int line) {
  if (condition) return;
  std::fprintf(stderr, "line %d: %s\n", line, soft_last_message());
  _exit(2);
}
#define CHILD_EXPECT(condition) expect((condition), __LINE__)

// First: the parent must not have used a device yet.
TEST(ProcessTest, AForkBeforeTheFirstUseIsHarmless) {
  EXPECT_EQ(runInChild([] {
              soft_stream* stream = nullptr;
              CHILD_EXPECT(soft_stream_get_default(0, &stream) == SOFT_OK);
              CHILD_EXPECT(launch(stream, [] {}) == SOFT_OK);
              CHILD_EXPECT(soft_device_synchronize(0) == SOFT_OK);
            }),
            0);
}

TEST(ProcessTest, ExitWithWorkInFlightNeitherHangsNorCrashes) {
  EXPECT_EQ(runInChild([] {
              soft_stream* stream = nullptr;
              soft_stream* other = nullptr;
              CHILD_EXPECT(soft_stream_create(0, 0, 1, &stream) == SOFT_OK);
              CHILD_EXPECT(soft_stream_create(1, 0, 1, &other) == SOFT_OK);
              soft_event* event = nullptr;
              CHILD_EXPECT(soft_event_create(0, 0, &event) == SOFT_OK);
              for (int i = 0; i < 500; ++i) {
                launch(stream, [] { usleep(10000); });
              }
              soft_event_record(event, stream);
              soft_stream_wait_event(other, event);
              std::exit(7);
            }),
            7);
}

TEST(ProcessTest, WrongSettingsAreExplained) {
  EXPECT_EQ(runInChild([] {
              setenv("SOFTDEVICE_COUNT", "three", 1);
              int32_t count = 0;
              CHILD_EXPECT(soft_device_count(&count) == SOFT_INVALID_VALUE);
              CHILD_EXPECT(std::strstr(soft_last_message(), "'three'"));
              void* ptr = nullptr;
              CHILD_EXPECT(soft_malloc(0, 1, &ptr) == SOFT_INVALID_VALUE);
            }),
            0);
}

TEST(ProcessTest, AProcessMayHaveNoDevice) {
  EXPECT_EQ(runInChild([] {
              setenv("SOFTDEVICE_COUNT", "0", 1);
              int32_t count = -1;
              CHILD_EXPECT(soft_device_count(&count) == SOFT_OK && count == 0);
              void* ptr = nullptr;
              CHILD_EXPECT(soft_malloc(0, 1, &ptr) == SOFT_INVALID_DEVICE);
            }),
            0);
}

TEST(ProcessTest, AChildOfAUserGetsAClearError) {
  setenv("SOFTDEVICE_MEMORY", "64M", 1);
  void* data = nullptr;
  soft_stream* stream = nullptr;
  ASSERT_OK(soft_malloc(0, 100, &data));
  ASSERT_OK(soft_stream_create(0, 0, 0, &stream));
  EXPECT_EQ(
      runInChild([&] {
        CHILD_EXPECT(launch(stream, [] {}) == SOFT_NOT_PERMITTED);
        CHILD_EXPECT(std::strstr(soft_last_message(), "forked"));
        CHILD_EXPECT(soft_stream_synchronize(stream) == SOFT_NOT_PERMITTED);
        CHILD_EXPECT(soft_device_synchronize(0) == SOFT_NOT_PERMITTED);
        CHILD_EXPECT(soft_free(data) == SOFT_NOT_PERMITTED);
        int32_t count = 0;
        CHILD_EXPECT(soft_device_count(&count) == SOFT_NOT_PERMITTED);
        std::exit(3);  // exit handlers must not wait for absent workers
      }),
      3);
  ASSERT_OK(launch(stream, [] {}));
  ASSERT_OK(soft_device_reset(0));
}

}  // namespace
}  // namespace dipu::softdevice
