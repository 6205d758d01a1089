// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "softdevice/device/device.h"
#include "softdevice/tests/device_test.h"

namespace dipu::softdevice {
namespace {

class PriorityTest : public DeviceTest {
 protected:
  static soft_stream* makeUrgent(int32_t priority) {
    soft_stream* stream = nullptr;
    EXPECT_OK(
        soft_stream_create(0, priority, SOFT_STREAM_NON_BLOCKING, &stream));
    return stream;
  }
  static void waitForWaiters(int32_t count) {
    while (existingDevice(0)->team().waiters() < count) {
      std::this_thread::yield();
    }
  }
};

// Each waits for the team before the next comes, the least urgent first.
TEST_F(PriorityTest, MostUrgentWaiterGetsTheTeam) {
  static std::vector<int> order;
  order.clear();
  soft_stream* holder = makeUrgent(0);
  Latch latch;
  ASSERT_OK(launch(holder, [] { soft_team_begin(); }));
  latch.hold(holder);
  ASSERT_OK(launch(holder, [] { soft_team_end(); }));
  latch.waitUntilEntered();
  int waiters = 0;
  std::vector<soft_stream*> streams;
  for (const int32_t priority : {1, 0, -2, 0, -1, 1}) {
    streams.push_back(makeUrgent(priority));
    const int mark = priority * 10 + waiters;
    ASSERT_OK(launch(streams.back(), [mark] {
      soft_team_begin();
      order.push_back(mark);  // the team's owner is alone here
      soft_team_end();
    }));
    waitForWaiters(++waiters);
  }
  latch.open();
  for (soft_stream* stream : streams)
    ASSERT_OK(soft_stream_synchronize(stream));
  EXPECT_EQ(order, (std::vector<int>{-20 + 2, -10 + 4, 1, 3, 10, 10 + 5}));
}

TEST_F(PriorityTest, TeamsExcludeEachOther) {
  static int inside;
  static int runs;
  inside = runs = 0;
  std::vector<soft_stream*> streams;
  for (const int32_t priority : {-2, 0, 1}) {
    streams.push_back(makeUrgent(priority));
  }
  for (int i = 0; i < 2000; ++i) {
    for (soft_stream* stream : streams) {
      ASSERT_OK(launch(stream, [] {
        soft_team_begin();
        runs += ++inside == 1 ? 1 : 0;
        --inside;
        soft_team_end();
      }));
    }
  }
  ASSERT_OK(soft_device_synchronize(0));
  EXPECT_EQ(runs, 6000);
}

// More than the program's own share may be refused; less never is.
TEST_F(PriorityTest, LessUrgentWorkersYieldTheProcessor) {
  static int nice;
  const int own = getpriority(PRIO_PROCESS, getpid());
  auto niceOf = [](int32_t priority) {
    soft_stream* stream = makeUrgent(priority);
    EXPECT_OK(launch(stream, [] { nice = getpriority(PRIO_PROCESS, 0); }));
    EXPECT_OK(soft_stream_synchronize(stream));
    return nice;
  };
  EXPECT_EQ(niceOf(0), own);
  EXPECT_EQ(niceOf(SOFT_PRIORITY_LEAST), std::min(own + 4, 19));
  EXPECT_LE(niceOf(SOFT_PRIORITY_GREATEST), own);
}

TEST_F(PriorityTest, IsKeptAndClamped) {
  EXPECT_EQ(soft_stream_priority(makeUrgent(-1)), -1);
  EXPECT_EQ(soft_stream_priority(makeUrgent(-99)), SOFT_PRIORITY_GREATEST);
  EXPECT_EQ(soft_stream_priority(makeUrgent(99)), SOFT_PRIORITY_LEAST);
}

}  // namespace
}  // namespace dipu::softdevice
