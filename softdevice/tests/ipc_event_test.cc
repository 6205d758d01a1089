// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "softdevice/soft_graph.h"
#include "softdevice/soft_ipc.h"
#include "softdevice/tests/child_process.h"
#include "softdevice/tests/device_test.h"

namespace dipu::softdevice {
namespace {

constexpr uint32_t kShared =
    SOFT_EVENT_INTERPROCESS | SOFT_EVENT_DISABLE_TIMING;

soft_event* makeEvent(int32_t device) {
  soft_event* event = nullptr;
  EXPECT_OK(soft_event_create(device, kShared, &event));
  return event;
}

soft_ipc_handle exportEvent(const soft_event* event) {
  soft_ipc_handle handle{};
  EXPECT_OK(soft_ipc_export_event(event, &handle));
  return handle;
}

// ------------------------------------------------- roles of a second process

enum class Order : int { kEnd = 0, kRecordBehindWork, kOpen, kRecordMany };

// Owns an event and records it behind a task that ends on order.
void recorderRole(const Channel& parent) {
  soft_stream* stream = nullptr;
  if (soft_stream_get_default(0, &stream) != SOFT_OK) std::abort();
  soft_event* event = makeEvent(0);
  parent.send(exportEvent(event));
  Latch latch;
  for (;;) {
    switch (parent.receive<Order>()) {
      case Order::kEnd:
        return;
      case Order::kRecordBehindWork:
        latch.hold(stream);
        if (soft_event_record(event, stream) != SOFT_OK) std::abort();
        break;
      case Order::kOpen:
        latch.open();
        break;
      case Order::kRecordMany:
        for (int i = 0; i < 1000; ++i) {
          if (soft_event_record(event, stream) != SOFT_OK) std::abort();
        }
        break;
    }
    parent.send(1);
  }
}

// Waits on the host for the event it is given, and says so.
void waiterRole(const Channel& parent) {
  const auto handle = parent.receive<soft_ipc_handle>();
  soft_event* event = nullptr;
  if (soft_ipc_open_event(1, &handle, &event) != SOFT_OK) std::abort();
  while (parent.receive<int>() == 1) {
    parent.send(soft_event_query(event));
    parent.send(soft_event_synchronize(event));
  }
}

// ------------------------------------------------------------------- tests

class IpcEventTest : public DeviceTest {
 protected:
  static soft_event* open(const ChildProcess& child) {
    const auto handle = child.receive<soft_ipc_handle>();
    soft_event* event = nullptr;
    EXPECT_OK(soft_ipc_open_event(0, &handle, &event));
    return event;
  }
  static void order(const ChildProcess& child, Order what) {
    child.send(what);
    EXPECT_EQ(child.receive<int>(), 1);
  }
};

TEST_F(IpcEventTest, OtherProcessWaitsOnTheHost) {
  soft_event* event = makeEvent(0);
  ChildProcess child("waiter");
  child.send(exportEvent(event));
  child.send(1);
  EXPECT_EQ(child.receive<soft_status>(), SOFT_OK) << "never recorded";
  EXPECT_EQ(child.receive<soft_status>(), SOFT_OK) << "never recorded";
  soft_stream* stream = makeStream(0);
  Latch latch;
  latch.hold(stream);
  ASSERT_OK(soft_event_record(event, stream));
  child.send(1);
  EXPECT_EQ(child.receive<soft_status>(), SOFT_NOT_READY);
  EXPECT_SOFT(SOFT_NOT_READY, soft_event_query(event));
  latch.open();
  EXPECT_EQ(child.receive<soft_status>(), SOFT_OK);
  EXPECT_OK(soft_event_synchronize(event));
  EXPECT_OK(soft_event_destroy(event));
}

TEST_F(IpcEventTest, StreamWaitsForTheOtherProcess) {
  ChildProcess child("recorder");
  soft_event* event = open(child);
  order(child, Order::kRecordBehindWork);
  soft_stream* stream = makeStream(0);
  static std::atomic<bool> ran;
  ran = false;
  ASSERT_OK(soft_stream_wait_event(stream, event));
  ASSERT_OK(launch(stream, [] { ran = true; }));
  EXPECT_SOFT(SOFT_NOT_READY, soft_event_query(event));
  EXPECT_SOFT(SOFT_NOT_READY, soft_stream_query(stream));
  // The waiting worker holds nothing that others need.
  soft_stream* other = makeStream(0);
  ASSERT_OK(launch(other, [] {}));
  ASSERT_OK(soft_stream_synchronize(other));
  EXPECT_FALSE(ran);
  order(child, Order::kOpen);
  EXPECT_OK(soft_event_synchronize(event));
  EXPECT_OK(soft_stream_synchronize(stream));
  EXPECT_TRUE(ran);
  EXPECT_OK(soft_event_destroy(event));
}

TEST_F(IpcEventTest, EitherProcessRecords) {
  ChildProcess child("recorder");
  soft_event* event = open(child);
  order(child, Order::kRecordBehindWork);
  EXPECT_SOFT(SOFT_NOT_READY, soft_event_query(event));
  // The last record counts, whoever made it.
  soft_stream* stream = makeStream(0);
  ASSERT_OK(soft_event_record(event, stream));
  EXPECT_OK(soft_event_synchronize(event));
  EXPECT_OK(soft_event_query(event));
  order(child, Order::kOpen);
  EXPECT_OK(soft_event_destroy(event));
}

TEST_F(IpcEventTest, ManyRecordsAreReachedInTurn) {
  ChildProcess child("recorder");
  soft_event* event = open(child);
  soft_stream* stream = makeStream(0);
  soft_stream* waiter = makeStream(1);
  child.send(Order::kRecordMany);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_OK(soft_event_record(event, stream));
    ASSERT_OK(soft_stream_wait_event(waiter, event));
  }
  EXPECT_EQ(child.receive<int>(), 1);
  EXPECT_OK(soft_stream_synchronize(waiter));
  EXPECT_OK(soft_event_synchronize(event));
  EXPECT_OK(soft_event_destroy(event));
}

// A wait refers to the record of its time: a later one on a free stream does
// not end it.
TEST_F(IpcEventTest, LaterRecordDoesNotReleaseAnEarlierWait) {
  soft_event* event = makeEvent(0);
  soft_stream* held = makeStream(0);
  soft_stream* waiter = makeStream(0);
  soft_stream* idle = makeStream(0);
  Latch latch;
  latch.hold(held);
  ASSERT_OK(soft_event_record(event, held));
  ASSERT_OK(soft_stream_wait_event(waiter, event));
  ASSERT_OK(soft_event_record(event, idle));
  ASSERT_OK(soft_event_synchronize(event));
  EXPECT_SOFT(SOFT_NOT_READY, soft_stream_query(waiter));
  latch.open();
  EXPECT_OK(soft_stream_synchronize(waiter));
  EXPECT_OK(soft_event_destroy(event));
}

TEST_F(IpcEventTest, CrashOfTheRecorderEndsTheWait) {
  ChildProcess child("recorder");
  soft_event* event = open(child);
  order(child, Order::kRecordBehindWork);
  soft_stream* stream = makeStream(0);
  ASSERT_OK(soft_stream_wait_event(stream, event));
  EXPECT_SOFT(SOFT_NOT_READY, soft_event_query(event));
  const std::string name = "process " + std::to_string(child.pid());
  child.kill();
  EXPECT_SOFT(SOFT_LAUNCH_FAILURE, soft_stream_synchronize(stream));
  EXPECT_TRUE(lastMessageHas(name)) << soft_last_message();
  EXPECT_SOFT(SOFT_LAUNCH_FAILURE, soft_event_query(event));
  EXPECT_SOFT(SOFT_LAUNCH_FAILURE, soft_event_synchronize(event));
  EXPECT_TRUE(lastMessageHas(name)) << soft_last_message();
  ASSERT_OK(soft_device_reset(0));
  // The event itself is still good.
  ASSERT_OK(soft_event_record(event, makeStream(0)));
  EXPECT_OK(soft_event_synchronize(event));
  EXPECT_OK(soft_event_destroy(event));
}

TEST_F(IpcEventTest, DestroyedWhilePending) {
  soft_event* event = makeEvent(0);
  ChildProcess child("waiter");
  child.send(exportEvent(event));
  child.send(1);
  EXPECT_EQ(child.receive<soft_status>(), SOFT_OK);
  EXPECT_EQ(child.receive<soft_status>(), SOFT_OK);
  soft_stream* stream = makeStream(0);
  Latch latch;
  latch.hold(stream);
  ASSERT_OK(soft_event_record(event, stream));
  ASSERT_OK(soft_event_destroy(event));
  child.send(1);
  EXPECT_EQ(child.receive<soft_status>(), SOFT_NOT_READY);
  latch.open();
  EXPECT_EQ(child.receive<soft_status>(), SOFT_OK);
}

// It would wait for itself. The record that failed hides no earlier one.
TEST_F(IpcEventTest, ATaskCannotFillTheEventOnItsOwnStream) {
  static soft_event* event;
  static soft_stream* stream;
  static int records;
  static soft_status last;
  event = makeEvent(0);
  stream = makeStream(0);
  records = 0;
  last = SOFT_OK;
  ASSERT_OK(launch(stream, [] {
    while (records < 1000 &&
           (last = soft_event_record(event, stream)) == SOFT_OK) {
      ++records;
    }
  }));
  ASSERT_OK(soft_stream_synchronize(stream));
  // That waited for the task; what the task has enqueued may still run.
  ASSERT_OK(soft_stream_synchronize(stream));
  EXPECT_EQ(records, 64);
  EXPECT_EQ(last, SOFT_NOT_PERMITTED);
  EXPECT_OK(soft_event_query(event));
  EXPECT_OK(soft_event_destroy(event));
}

TEST_F(IpcEventTest, AFailedRecordLeavesTheOneBefore) {
  static soft_event* event;
  static soft_stream* full;
  static soft_status refused;
  event = makeEvent(0);
  full = makeStream(0);
  soft_stream* held = makeStream(0);
  Latch latch;
  latch.hold(held);
  ASSERT_OK(soft_event_record(event, held));
  ASSERT_OK(launch(full, [] {
    while (launch(full, [] {}) == SOFT_OK) continue;
    refused = soft_event_record(event, full);
  }));
  ASSERT_OK(soft_stream_synchronize(full));
  EXPECT_EQ(refused, SOFT_NOT_PERMITTED);
  EXPECT_SOFT(SOFT_NOT_READY, soft_event_query(event));
  latch.open();
  EXPECT_OK(soft_event_synchronize(event));
  EXPECT_OK(soft_event_destroy(event));
}

// A record that is not in its stream yet is not the last one: the stream would
// wait for what stands behind the wait.
TEST_F(IpcEventTest, WaitsDuringRecordsOfTheSameStream) {
  soft_event* event = makeEvent(0);
  soft_stream* stream = makeStream(0);
  constexpr int kRounds = 20000;
  std::thread recorder([&] {
    for (int i = 0; i < kRounds; ++i) {
      EXPECT_OK(soft_event_record(event, stream));
    }
  });
  for (int i = 0; i < kRounds; ++i) {
    EXPECT_OK(soft_stream_wait_event(stream, event));
  }
  recorder.join();
  EXPECT_OK(soft_stream_synchronize(stream));
  EXPECT_OK(soft_event_destroy(event));
}

TEST_F(IpcEventTest, ACaptureIsSpoilt) {
  soft_event* event = makeEvent(0);
  for (const bool records : {true, false}) {
    soft_stream* stream = makeStream(0);
    ASSERT_OK(soft_stream_begin_capture(stream, SOFT_CAPTURE_RELAXED));
    EXPECT_SOFT(SOFT_CAPTURE_UNSUPPORTED,
                records ? soft_event_record(event, stream)
                        : soft_stream_wait_event(stream, event));
    soft_graph* graph = nullptr;
    EXPECT_SOFT(SOFT_CAPTURE_INVALIDATED,
                soft_stream_end_capture(stream, &graph));
  }
  EXPECT_OK(soft_event_destroy(event));
}

TEST_F(IpcEventTest, MisuseIsAnError) {
  soft_event* event = nullptr;
  EXPECT_SOFT(SOFT_INVALID_VALUE,
              soft_event_create(0, SOFT_EVENT_INTERPROCESS, &event));
  soft_event* plain = nullptr;
  ASSERT_OK(soft_event_create(0, SOFT_EVENT_DISABLE_TIMING, &plain));
  soft_ipc_handle handle{};
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_ipc_export_event(plain, &handle));
  EXPECT_SOFT(SOFT_INVALID_HANDLE, soft_ipc_export_event(nullptr, &handle));
  EXPECT_SOFT(SOFT_INVALID_HANDLE, soft_ipc_open_event(0, &handle, &event));
  EXPECT_OK(soft_event_destroy(plain));

  event = makeEvent(0);
  handle = exportEvent(event);
  soft_event* again = nullptr;
  EXPECT_SOFT(SOFT_NOT_PERMITTED, soft_ipc_open_event(0, &handle, &again));
  void* memory = nullptr;
  EXPECT_SOFT(SOFT_INVALID_HANDLE, soft_ipc_open_memory(0, &handle, &memory));
  EXPECT_TRUE(lastMessageHas("exported event")) << soft_last_message();
  double ms = 0;
  EXPECT_SOFT(SOFT_INVALID_HANDLE, soft_event_elapsed(event, event, &ms));
  EXPECT_OK(soft_event_destroy(event));

  ChildProcess child("recorder");
  soft_event* opened = open(child);
  EXPECT_SOFT(SOFT_NOT_PERMITTED, soft_ipc_export_event(opened, &handle));
  EXPECT_OK(soft_event_destroy(opened));
}

}  // namespace
}  // namespace dipu::softdevice

int main(int argc, char** argv) {
  // Before any device is used, here and in the children.
  setenv("SOFTDEVICE_COUNT", "2", 1);
  setenv("SOFTDEVICE_MEMORY", "64M", 1);
  dipu::softdevice::runChildRole(argc, argv,
                                 {{"recorder", dipu::softdevice::recorderRole},
                                  {"waiter", dipu::softdevice::waiterRole}});
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
