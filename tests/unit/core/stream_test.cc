// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/stream.h"

#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <set>
#include <thread>

#include "core/runtime/event.h"
#include "core/runtime/memory.h"
#include "tests/unit/core/testing.h"

namespace dipu::runtime {
namespace {

using testing::contains;
using testing::messageOf;
using testing::StreamHold;

class StreamTest : public testing::FakeVendorTest {
 protected:
  const c10::impl::VirtualGuardImpl guard_{kDeviceType};
};

TEST_F(StreamTest, DefaultStreamIsIdZeroAndCurrent) {
  EXPECT_EQ(defaultStream(1).id(), 0);
  EXPECT_EQ(currentStream(1), defaultStream(1));
  EXPECT_EQ(currentStream().device_index(), 0);
  EXPECT_EQ(currentStreamHandle(1), handleOf(defaultStream(1)));
  EXPECT_NE(currentStreamHandle(0), currentStreamHandle(1));
}

TEST_F(StreamTest, CurrentStreamBelongsToThreadAndDevice) {
  const c10::Stream stream = newStream(1, 0);
  const c10::Stream previous = exchangeCurrentStream(stream);
  EXPECT_EQ(previous, defaultStream(1));
  EXPECT_EQ(currentStream(1), stream);
  EXPECT_EQ(currentStream(0), defaultStream(0));
  EXPECT_EQ(currentDevice(), 0) << "the device does not follow the stream";
  std::thread([] { EXPECT_EQ(currentStream(1), defaultStream(1)); }).join();
  exchangeCurrentStream(previous);
}

TEST_F(StreamTest, StreamGuardSwitchesDeviceAndStream) {
  const c10::Stream stream = newStream(1, 0);
  {
    const c10::StreamGuard guard(stream);
    EXPECT_EQ(currentDevice(), 1);
    EXPECT_EQ(currentStream(), stream);
  }
  EXPECT_EQ(currentDevice(), 0);
  EXPECT_EQ(currentStream(1), defaultStream(1));
}

TEST_F(StreamTest, PoolCreatesLazilyAndGoesRound) {
  const int before = testing::calls().create_stream;
  const c10::Stream first = streamFromPool(1, false);
  EXPECT_EQ(testing::calls().create_stream, before + 1);
  std::set<c10::StreamId> ids = {first.id()};
  for (int i = 1; i < kPoolStreams; ++i) {
    ids.insert(streamFromPool(1, false).id());
  }
  EXPECT_EQ(ids.size(), kPoolStreams);
  EXPECT_EQ(streamFromPool(1, false), first);
  EXPECT_EQ(ids.count(streamFromPool(1, true).id()), 0);
  EXPECT_EQ(testing::calls().create_stream, before + kPoolStreams + 1);
}

TEST_F(StreamTest, PrioritiesAreClamped) {
  EXPECT_EQ(recordOf(newStream(0, -7)).priority, -2);
  EXPECT_EQ(recordOf(newStream(0, 7)).priority, 0);
  EXPECT_EQ(recordOf(streamFromPool(0, true)).priority, -2);
}

TEST_F(StreamTest, NewStreamsAreReusedBeyondTheLimit) {
  std::set<c10::StreamId> ids;
  for (int i = 0; i < 2 * kMaxNewStreams; ++i) ids.insert(newStream(1, 0).id());
  EXPECT_LE(ids.size(), kMaxNewStreams);
  EXPECT_GT(ids.size(), kMaxNewStreams / 2);
}

TEST_F(StreamTest, RefusesUnknownStreams) {
  const c10::Stream unknown(c10::Stream::UNSAFE, c10::Device(kDeviceType, 0),
                            100000);
  EXPECT_TRUE(contains(messageOf([&] { handleOf(unknown); }),
                       "unknown stream id 100000"));
  const c10::Stream cpu(c10::Stream::DEFAULT, c10::Device(c10::kCPU, 0));
  EXPECT_TRUE(contains(messageOf([&] { handleOf(cpu); }),
                       "expected a stream of dipu, got one of cpu"));
}

TEST_F(StreamTest, QueryAndSynchronize) {
  const c10::Stream stream = newStream(0, 0);
  char byte = 0;
  StreamHold hold(stream);
  memsetAsync(&byte, 0, 7, 1, handleOf(stream));
  EXPECT_FALSE(guard_.queryStream(stream));
  EXPECT_EQ(byte, 0);
  guard_.synchronizeStream(stream);
  EXPECT_TRUE(guard_.queryStream(stream));
  EXPECT_EQ(byte, 7);
}

TEST_F(StreamTest, NativeHandleIsTheSdks) {
  const c10::Stream stream = newStream(0, 0);
  EXPECT_EQ(guard_.getStreamNativeHandle(stream), handleOf(stream));
  EXPECT_FALSE(guard_.isStreamCapturing(stream));
}

TEST_F(StreamTest, EventOrdersStreams) {
  const c10::Stream producer = newStream(0, 0);
  const c10::Stream consumer = newStream(1, 0);
  char data = 0;
  char seen = 0;
  StreamHold hold(producer);
  memsetAsync(&data, 0, 5, 1, handleOf(producer));
  c10::Event event(kDeviceType);
  event.record(producer);
  event.block(consumer);
  copyAsync(&seen, 1, &data, 1, 1, handleOf(consumer));
  EXPECT_FALSE(event.query());
  EXPECT_FALSE(queryStream(consumer)) << "must wait for the producer";
  hold.letGo();
  EXPECT_TRUE(event.query());
  EXPECT_EQ(seen, 5);
}

TEST_F(StreamTest, EventTiming) {
  c10::Event start(kDeviceType, c10::EventFlag::BACKEND_DEFAULT);
  c10::Event end(kDeviceType, c10::EventFlag::BACKEND_DEFAULT);
  const c10::Stream stream = newStream(0, 0);
  char byte = 0;
  start.record(stream);
  memsetAsync(&byte, 0, 1, 1, handleOf(stream));
  end.record(stream);
  end.synchronize();
  EXPECT_EQ(start.elapsedTime(end), 2);
}

TEST_F(StreamTest, EventsOfOtherKindsHaveNoTime) {
  const PooledEvent start = acquireEvent(0, false);
  const PooledEvent end = acquireEvent(0, false);
  recordEvent(*start, currentStreamRecord(0));
  recordEvent(*end, currentStreamRecord(0));
  EXPECT_TRUE(contains(messageOf([&] { elapsedMs(*start, *end); }),
                       "fake:0: no time was taken"));
}

TEST_F(StreamTest, EventStaysOnItsDevice) {
  c10::Event event(kDeviceType);
  event.record(newStream(0, 0));
  EXPECT_TRUE(contains(messageOf([&] { event.record(newStream(1, 0)); }),
                       "cannot be recorded on a stream of"));
}

TEST_F(StreamTest, EventsArePooled) {
  {
    const PooledEvent warm = acquireEvent(0);
  }
  const int before = testing::calls().create_event;
  for (int i = 0; i < 10; ++i) {
    c10::Event event(kDeviceType);
    event.record(defaultStream(0));
  }
  EXPECT_EQ(testing::calls().create_event, before);
}

TEST_F(StreamTest, UnrecordedEventIsDone) {
  EXPECT_TRUE(guard_.queryEvent(nullptr));
  EXPECT_NO_THROW(guard_.synchronizeEvent(nullptr));
  EXPECT_NO_THROW(guard_.block(nullptr, defaultStream(0)));
}

}  // namespace
}  // namespace dipu::runtime
