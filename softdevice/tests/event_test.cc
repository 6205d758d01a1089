// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "softdevice/tests/device_test.h"

namespace dipu::softdevice {
namespace {

class EventTest : public DeviceTest {
 protected:
  static soft_event* makeEvent(int32_t device,
                               uint32_t flags = SOFT_EVENT_DEFAULT) {
    soft_event* event = nullptr;
    EXPECT_OK(soft_event_create(device, flags, &event));
    return event;
  }
};

TEST_F(EventTest, OrdersTwoStreamsWithoutBlockingTheHost) {
  soft_stream* writer = makeStream(0);
  soft_stream* reader = makeStream(1);
  soft_event* written = makeEvent(0, SOFT_EVENT_DISABLE_TIMING);
  Latch latch;
  static std::atomic<int> value;
  static std::atomic<int> seen;
  value = seen = 0;
  latch.hold(writer);
  ASSERT_OK(launch(writer, [] { value = 42; }));
  ASSERT_OK(soft_event_record(written, writer));
  ASSERT_OK(soft_stream_wait_event(reader, written));
  ASSERT_OK(launch(reader, [] { seen = value.load(); }));
  EXPECT_SOFT(SOFT_NOT_READY, soft_stream_query(reader));
  EXPECT_SOFT(SOFT_NOT_READY, soft_event_query(written));
  latch.open();
  ASSERT_OK(soft_stream_synchronize(reader));
  EXPECT_EQ(seen, 42);
  EXPECT_OK(soft_event_query(written));
  EXPECT_OK(soft_event_destroy(written));
}

TEST_F(EventTest, PingPongKeepsOrder) {
  soft_stream* streams[] = {makeStream(0), makeStream(1)};
  soft_event* events[] = {makeEvent(0), makeEvent(1)};
  std::vector<int> seen;
  auto* out = &seen;
  for (int i = 0; i < 500; ++i) {
    const int now = i % 2;
    if (i > 0) {
      ASSERT_OK(soft_stream_wait_event(streams[now], events[1 - now]));
    }
    ASSERT_OK(launch(streams[now], [out, i] { out->push_back(i); }));
    ASSERT_OK(soft_event_record(events[now], streams[now]));
  }
  ASSERT_OK(soft_event_synchronize(events[1]));
  ASSERT_EQ(seen.size(), 500u);
  for (int i = 0; i < 500; ++i) ASSERT_EQ(seen[i], i);
  for (soft_event* event : events) EXPECT_OK(soft_event_destroy(event));
}

// Random launches, records and waits over streams of all kinds. What a wait
// promises is checked by a task behind it.
TEST_F(EventTest, RandomWaitsSeeTheRecordedWork) {
  struct Lane {
    soft_stream* stream;
    soft_event* event;
    std::atomic<int>* done;
    int launched = 0;
    int recorded = 0;
  };
  static std::atomic<int> done[6];
  static std::atomic<int> violations;
  violations = 0;
  std::vector<Lane> lanes;
  for (int i = 0; i < 6; ++i) {
    done[i] = 0;
    soft_stream* stream = makeStream(i % 2, i / 3);
    if (i == 5) {
      ASSERT_OK(soft_stream_get_default(1, &stream));
    }
    lanes.push_back({stream, makeEvent(i % 2, i % 3), &done[i]});
  }
  std::mt19937 random(11);
  for (int step = 0; step < 20000; ++step) {
    Lane& lane = lanes[random() % lanes.size()];
    Lane& other = lanes[random() % lanes.size()];
    const unsigned action = random() % 100;
    if (action < 50) {
      std::atomic<int>* count = lane.done;
      ASSERT_OK(launch(lane.stream, [count] { ++*count; }));
      ++lane.launched;
    } else if (action < 70) {
      ASSERT_OK(soft_event_record(lane.event, lane.stream));
      lane.recorded = lane.launched;
    } else if (action < 98) {
      ASSERT_OK(soft_stream_wait_event(lane.stream, other.event));
      ASSERT_OK(
          launch(lane.stream, [seen = other.done, expected = other.recorded] {
            if (*seen < expected) ++violations;
          }));
    } else {
      ASSERT_OK(soft_event_synchronize(other.event));
      EXPECT_GE(*other.done, other.recorded);
    }
  }
  for (Lane& lane : lanes) {
    ASSERT_OK(soft_stream_synchronize(lane.stream));
    EXPECT_EQ(*lane.done, lane.launched);
    EXPECT_OK(soft_event_destroy(lane.event));
  }
  EXPECT_EQ(violations, 0);
}

TEST_F(EventTest, AWaitKeepsTheRecordItSaw) {
  soft_stream* first = makeStream(0);
  soft_stream* second = makeStream(0);
  soft_event* event = makeEvent(0);
  Latch latch;
  ASSERT_OK(soft_event_record(event, first));
  ASSERT_OK(soft_stream_wait_event(second, event));
  latch.hold(first);
  ASSERT_OK(soft_event_record(event, first));
  EXPECT_SOFT(SOFT_NOT_READY, soft_event_query(event));
  ASSERT_OK(soft_stream_synchronize(second));
  latch.open();
  ASSERT_OK(soft_event_synchronize(event));
  EXPECT_OK(soft_event_destroy(event));
}

TEST_F(EventTest, NeverRecordedIsDone) {
  soft_event* event = makeEvent(0);
  EXPECT_OK(soft_event_query(event));
  EXPECT_OK(soft_event_synchronize(event));
  soft_stream* stream = makeStream(0);
  EXPECT_OK(soft_stream_wait_event(stream, event));
  EXPECT_OK(soft_stream_synchronize(stream));
  EXPECT_OK(soft_event_destroy(event));
}

TEST_F(EventTest, DestroyingAPendingEventIsSafe) {
  soft_stream* first = makeStream(0);
  soft_stream* second = makeStream(0);
  Latch latch;
  static std::atomic<bool> released;
  released = false;
  latch.hold(first);
  ASSERT_OK(launch(first, [] { released = true; }));
  soft_event* event = makeEvent(0);
  ASSERT_OK(soft_event_record(event, first));
  ASSERT_OK(soft_stream_wait_event(second, event));
  ASSERT_OK(soft_event_destroy(event));
  ASSERT_OK(launch(second, [] { EXPECT_TRUE(released); }));
  ASSERT_OK(soft_stream_destroy(first));
  latch.open();
  ASSERT_OK(soft_device_synchronize(0));
  EXPECT_OK(soft_event_destroy(nullptr));
}

TEST_F(EventTest, ElapsedTimeIsMeasuredWhereTheWorkRuns) {
  soft_stream* stream = makeStream(0);
  soft_event* marks[] = {makeEvent(0), makeEvent(0), makeEvent(0)};
  Latch latch;
  double ms = -1.0;
  ASSERT_OK(soft_event_record(marks[0], stream));
  latch.hold(stream);
  ASSERT_OK(soft_event_record(marks[1], stream));
  ASSERT_OK(soft_event_record(marks[2], stream));
  EXPECT_SOFT(SOFT_NOT_READY, soft_event_elapsed(marks[0], marks[1], &ms));
  latch.waitUntilEntered();
  std::this_thread::sleep_for(std::chrono::milliseconds(3));
  latch.open();
  ASSERT_OK(soft_event_synchronize(marks[2]));
  ASSERT_OK(soft_event_elapsed(marks[0], marks[1], &ms));
  EXPECT_GE(ms, 3.0);
  ASSERT_OK(soft_event_elapsed(marks[1], marks[2], &ms));
  EXPECT_GE(ms, 0.0);
  ASSERT_OK(soft_event_elapsed(marks[1], marks[0], &ms));
  EXPECT_LE(ms, -3.0);
  for (soft_event* event : marks) EXPECT_OK(soft_event_destroy(event));
}

TEST_F(EventTest, ElapsedNeedsTwoRecordsWithTiming) {
  soft_stream* stream = makeStream(0);
  soft_event* timed = makeEvent(0);
  soft_event* plain = makeEvent(0, SOFT_EVENT_DISABLE_TIMING);
  double ms = 0.0;
  EXPECT_SOFT(SOFT_INVALID_HANDLE, soft_event_elapsed(timed, timed, &ms));
  ASSERT_OK(soft_event_record(timed, stream));
  ASSERT_OK(soft_event_record(plain, stream));
  ASSERT_OK(soft_stream_synchronize(stream));
  EXPECT_SOFT(SOFT_INVALID_HANDLE, soft_event_elapsed(timed, plain, &ms));
  ASSERT_OK(soft_event_elapsed(timed, timed, &ms));
  EXPECT_EQ(ms, 0.0);
  EXPECT_OK(soft_event_destroy(timed));
  EXPECT_OK(soft_event_destroy(plain));
}

TEST_F(EventTest, WrongHandlesAreErrors) {
  soft_event* event = makeEvent(0);
  EXPECT_SOFT(SOFT_INVALID_HANDLE, soft_event_record(event, makeStream(1)));
  EXPECT_SOFT(SOFT_INVALID_HANDLE, soft_event_record(event, nullptr));
  EXPECT_SOFT(SOFT_INVALID_HANDLE, soft_event_query(nullptr));
  EXPECT_SOFT(SOFT_INVALID_HANDLE, soft_event_synchronize(nullptr));
  soft_event* other = nullptr;
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_event_create(0, 64, &other));
  EXPECT_SOFT(SOFT_INVALID_DEVICE, soft_event_create(-1, 0, &other));
  EXPECT_OK(soft_event_destroy(event));
}

}  // namespace
}  // namespace dipu::softdevice
