// SPDX-License-Identifier: Apache-2.0
//
// dipu_stream_api.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "tests/cts/fixture.h"

namespace dipu::cts {
namespace {

class Streams : public VendorTest {};
class StreamsPeer : public PeerTest {};

void increment(void* counter) { ++*static_cast<std::atomic<int>*>(counter); }

TEST_F(Streams, WorkOfOneStreamRunsInOrder) {
  const Stream stream(0);
  const DeviceBuffer buffer(0, 4096);
  const PinnedBuffer out(50 * 4096);
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(succeeded(
        memoryApi().set_async(buffer.get(), 0, i, 4096, stream.get())));
    ASSERT_TRUE(succeeded(memoryApi().copy_async(
        out.get() + i * 4096, DIPU_HOST, buffer.get(), 0, 4096, stream.get())));
  }
  stream.synchronize();
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(out.get()[i * 4096], i);
    EXPECT_EQ(out.get()[i * 4096 + 4095], i);
  }
}

TEST_F(Streams, QueryCountsTheWorkThatRuns) {
  DIPU_REQUIRE_HOST_FUNCTIONS();
  const Stream stream(0);
  EXPECT_TRUE(stream.isDone()) << "nothing was enqueued";
  {
    Gate gate;
    gate.hold(stream.get());
    gate.waitUntilReached();
    EXPECT_FALSE(stream.isDone()) << "the last task has begun, not ended";
    gate.open();
  }
  stream.synchronize();
  EXPECT_TRUE(stream.isDone());
}

TEST_F(Streams, HostFunctionsRunInOrderWithCopies) {
  DIPU_REQUIRE_HOST_FUNCTIONS();
  const Stream stream(0);
  const DeviceBuffer buffer(0, 16);
  const PinnedBuffer out(16);
  struct Seen {
    const uint8_t* bytes;
    int value;
  } seen{out.get(), -1};
  ASSERT_TRUE(
      succeeded(memoryApi().set_async(buffer.get(), 0, 77, 16, stream.get())));
  ASSERT_TRUE(succeeded(memoryApi().copy_async(
      out.get(), DIPU_HOST, buffer.get(), 0, 16, stream.get())));
  ASSERT_TRUE(succeeded(streamApi().launch_host_func(
      stream.get(),
      [](void* argument) {
        auto* result = static_cast<Seen*>(argument);
        result->value = result->bytes[15];
      },
      &seen)));
  stream.synchronize();
  EXPECT_EQ(seen.value, 77);
}

TEST_F(Streams, StreamsDoNotWaitForEachOther) {
  DIPU_REQUIRE_HOST_FUNCTIONS();
  dipu_stream* default_stream = nullptr;
  ASSERT_TRUE(succeeded(streamApi().get_default(0, &default_stream)));
  const Stream held(0);
  const Stream free(0);
  Gate gate;
  gate.hold(held.get());
  gate.hold(default_stream);
  gate.waitUntilReached();
  std::atomic<int> counter{0};
  ASSERT_TRUE(
      succeeded(streamApi().launch_host_func(free.get(), increment, &counter)));
  free.synchronize();
  EXPECT_EQ(counter, 1);
  EXPECT_FALSE(held.isDone());
}

TEST_F(Streams, DefaultStreamIsAlwaysTheSame) {
  dipu_stream* first = nullptr;
  dipu_stream* second = nullptr;
  ASSERT_TRUE(succeeded(streamApi().get_default(0, &first)));
  ASSERT_TRUE(succeeded(streamApi().get_default(0, &second)));
  EXPECT_EQ(first, second);
  EXPECT_TRUE(succeeded(streamApi().synchronize(first)));
}

TEST_F(Streams, BlockingCopyComesAfterTheDefaultStream) {
  DIPU_REQUIRE_HOST_FUNCTIONS();
  dipu_stream* stream = nullptr;
  ASSERT_TRUE(succeeded(streamApi().get_default(0, &stream)));
  const DeviceBuffer buffer(0, 64);
  Gate gate;
  gate.hold(stream);
  ASSERT_TRUE(succeeded(memoryApi().set_async(buffer.get(), 0, 8, 64, stream)));
  gate.waitUntilReached();
  std::thread opener([&] { gate.open(); });
  EXPECT_EQ(readBack(buffer.get(), 0, 64), std::vector<uint8_t>(64, 8));
  opener.join();
}

TEST_F(Streams, WaitEventHoldsLaterWorkOnly) {
  DIPU_REQUIRE_HOST_FUNCTIONS();
  const Stream producer(0);
  const Stream consumer(0);
  const Event ready(0);
  const DeviceBuffer buffer(0, 4096);
  const PinnedBuffer out(4096);
  out.get()[0] = 0;
  Gate gate;
  gate.hold(producer.get());
  ASSERT_TRUE(succeeded(
      memoryApi().set_async(buffer.get(), 0, 3, 4096, producer.get())));
  ASSERT_TRUE(succeeded(eventApi().record(ready.get(), producer.get())));
  ASSERT_TRUE(succeeded(streamApi().wait_event(consumer.get(), ready.get())));
  ASSERT_TRUE(succeeded(memoryApi().copy_async(
      out.get(), DIPU_HOST, buffer.get(), 0, 4096, consumer.get())));
  gate.waitUntilReached();
  EXPECT_FALSE(consumer.isDone());
  EXPECT_EQ(out.get()[0], 0);
  gate.open();
  consumer.synchronize();
  EXPECT_EQ(out.get()[0], 3);
  EXPECT_EQ(out.get()[4095], 3);
}

TEST_F(Streams, AnEventWithoutRecordHoldsNothing) {
  const Stream stream(0);
  const Event event(0);
  EXPECT_TRUE(succeeded(streamApi().wait_event(stream.get(), event.get())));
  stream.synchronize();
}

TEST_F(Streams, WaitingUsesTheRecordOfThatMoment) {
  DIPU_REQUIRE_HOST_FUNCTIONS();
  const Stream first(0);
  const Stream second(0);
  const Stream waiting(0);
  const Event event(0);
  ASSERT_TRUE(succeeded(eventApi().record(event.get(), first.get())));
  ASSERT_TRUE(succeeded(streamApi().wait_event(waiting.get(), event.get())));
  Gate gate;
  gate.hold(second.get());
  ASSERT_TRUE(succeeded(eventApi().record(event.get(), second.get())));
  waiting.synchronize();
  EXPECT_FALSE(event.isDone());
}

TEST_F(Streams, DestroyLetsWorkFinish) {
  DIPU_REQUIRE_HOST_FUNCTIONS();
  std::atomic<int> counter{0};
  {
    Stream stream(0);
    Gate gate;
    gate.hold(stream.get());
    for (int i = 0; i < 10; ++i) {
      ASSERT_TRUE(succeeded(
          streamApi().launch_host_func(stream.get(), increment, &counter)));
    }
    stream.destroy();
  }
  EXPECT_TRUE(succeeded(deviceApi().synchronize(0)));
  EXPECT_EQ(counter, 10);
}

TEST_F(Streams, DestroyingNullIsLegal) { streamApi().destroy(0, nullptr); }

TEST_F(Streams, PrioritiesAreClamped) {
  for (const int32_t priority : {-1000, -1, 0, 1, 1000}) {
    const Stream stream(0, priority);
    stream.synchronize();
  }
  if (DIPU_HAS(&streamApi(), get_priority_range)) {
    int32_t least = -100;
    int32_t greatest = 100;
    ASSERT_TRUE(
        succeeded(streamApi().get_priority_range(0, &least, &greatest)));
    EXPECT_LE(greatest, least);
    EXPECT_LE(greatest, 0);
    EXPECT_GE(least, 0);
  }
}

TEST_F(Streams, ManyThreadsUseOneStream) {
  DIPU_REQUIRE_HOST_FUNCTIONS();
  const Stream stream(0);
  std::atomic<int> counter{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        EXPECT_TRUE(succeeded(
            streamApi().launch_host_func(stream.get(), increment, &counter)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  stream.synchronize();
  EXPECT_EQ(counter, 2000);
}

TEST_F(StreamsPeer, AStreamWaitsForAnEventOfAnotherDevice) {
  DIPU_REQUIRE_HOST_FUNCTIONS();
  const Stream producer(0);
  const Stream consumer(1);
  const Event ready(0);
  Gate gate;
  gate.hold(producer.get());
  ASSERT_TRUE(succeeded(eventApi().record(ready.get(), producer.get())));
  ASSERT_TRUE(succeeded(streamApi().wait_event(consumer.get(), ready.get())));
  gate.waitUntilReached();
  EXPECT_FALSE(consumer.isDone());
  gate.open();
  consumer.synchronize();
}

TEST_F(StreamsPeer, DevicesHaveDefaultStreamsOfTheirOwn) {
  DIPU_REQUIRE_HOST_FUNCTIONS();
  dipu_stream* first = nullptr;
  dipu_stream* second = nullptr;
  ASSERT_TRUE(succeeded(streamApi().get_default(0, &first)));
  ASSERT_TRUE(succeeded(streamApi().get_default(1, &second)));
  Gate gate;
  gate.hold(first);
  gate.waitUntilReached();
  EXPECT_TRUE(succeeded(deviceApi().set_current(1)));
  EXPECT_TRUE(succeeded(streamApi().synchronize(second)));
}

}  // namespace
}  // namespace dipu::cts
