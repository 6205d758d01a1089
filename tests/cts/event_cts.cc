// SPDX-License-Identifier: Apache-2.0
//
// dipu_event_api.
#include <cstdint>

#include "tests/cts/fixture.h"

namespace dipu::cts {
namespace {

class Events : public VendorTest {};

TEST_F(Events, WithoutARecordItIsDone) {
  const Event event(0);
  EXPECT_TRUE(event.isDone());
  EXPECT_TRUE(succeeded(eventApi().synchronize(event.get())));
}

TEST_F(Events, FlagsOfTheFutureAreUnimplemented) {
  for (const dipu_event_flags flags :
       {dipu_event_flags{1} << 31, DIPU_EVENT_TIMING | dipu_event_flags{1 << 3},
        ~dipu_event_flags{0}}) {
    dipu_event* event = nullptr;
    EXPECT_TRUE(
        failedWith(eventApi().create(0, flags, &event), DIPU_UNIMPLEMENTED))
        << flags;
    EXPECT_EQ(event, nullptr) << "outputs are untouched on error";
  }
}

TEST_F(Events, IsDoneWhenTheStreamReachesIt) {
  DIPU_REQUIRE_HOST_FUNCTIONS();
  for (const dipu_event_flags flags :
       {dipu_event_flags{0}, dipu_event_flags{DIPU_EVENT_TIMING},
        dipu_event_flags{DIPU_EVENT_BLOCKING_SYNC}}) {
    const Stream stream(0);
    const Event event(0, flags);
    Gate gate;
    gate.hold(stream.get());
    ASSERT_TRUE(succeeded(eventApi().record(event.get(), stream.get())));
    gate.waitUntilReached();
    EXPECT_FALSE(event.isDone());
    gate.open();
    EXPECT_TRUE(succeeded(eventApi().synchronize(event.get())));
    EXPECT_TRUE(event.isDone());
  }
}

TEST_F(Events, DoesNotWaitForLaterWork) {
  DIPU_REQUIRE_HOST_FUNCTIONS();
  const Stream stream(0);
  const Event event(0);
  ASSERT_TRUE(succeeded(eventApi().record(event.get(), stream.get())));
  Gate gate;
  gate.hold(stream.get());
  EXPECT_TRUE(succeeded(eventApi().synchronize(event.get())));
  EXPECT_FALSE(stream.isDone());
}

TEST_F(Events, ALaterRecordReplacesTheFormer) {
  DIPU_REQUIRE_HOST_FUNCTIONS();
  const Stream held(0);
  const Stream free(0);
  const Event event(0);
  Gate gate;
  gate.hold(held.get());
  ASSERT_TRUE(succeeded(eventApi().record(event.get(), held.get())));
  EXPECT_FALSE(event.isDone());
  ASSERT_TRUE(succeeded(eventApi().record(event.get(), free.get())));
  EXPECT_TRUE(succeeded(eventApi().synchronize(event.get())));
  EXPECT_TRUE(event.isDone());
}

TEST_F(Events, MayBeDestroyedWhilePending) {
  DIPU_REQUIRE_HOST_FUNCTIONS();
  const Stream stream(0);
  const Stream waiting(0);
  Event event(0);
  Gate gate;
  gate.hold(stream.get());
  ASSERT_TRUE(succeeded(eventApi().record(event.get(), stream.get())));
  ASSERT_TRUE(succeeded(streamApi().wait_event(waiting.get(), event.get())));
  event.destroy();
  EXPECT_FALSE(waiting.isDone());
  gate.open();
  waiting.synchronize();
  eventApi().destroy(nullptr);
}

TEST_F(Events, ElapsedMeasuresTheWorkBetween) {
  const Stream stream(0);
  const Event start(0, DIPU_EVENT_TIMING);
  const Event middle(0, DIPU_EVENT_TIMING);
  const Event end(0, DIPU_EVENT_TIMING);
  constexpr size_t kBytes = size_t{4} << 20;
  const DeviceBuffer buffer(0, kBytes);
  ASSERT_TRUE(succeeded(eventApi().record(start.get(), stream.get())));
  ASSERT_TRUE(succeeded(
      memoryApi().set_async(buffer.get(), 0, 1, kBytes, stream.get())));
  ASSERT_TRUE(succeeded(eventApi().record(middle.get(), stream.get())));
  ASSERT_TRUE(succeeded(
      memoryApi().set_async(buffer.get(), 0, 2, kBytes, stream.get())));
  ASSERT_TRUE(succeeded(eventApi().record(end.get(), stream.get())));
  stream.synchronize();
  double first = -1;
  double whole = -1;
  ASSERT_TRUE(succeeded(eventApi().elapsed(start.get(), middle.get(), &first)));
  ASSERT_TRUE(succeeded(eventApi().elapsed(start.get(), end.get(), &whole)));
  EXPECT_GT(first, 0);
  EXPECT_GE(whole, first);
  EXPECT_LT(whole, 60000) << "milliseconds";
}

TEST_F(Events, ElapsedNeedsFinishedRecords) {
  DIPU_REQUIRE_HOST_FUNCTIONS();
  const Stream stream(0);
  const Event start(0, DIPU_EVENT_TIMING);
  const Event end(0, DIPU_EVENT_TIMING);
  double elapsed = -1;
  EXPECT_TRUE(failedWith(eventApi().elapsed(start.get(), end.get(), &elapsed),
                         DIPU_FAILED_PRECONDITION))
      << "never recorded";
  ASSERT_TRUE(succeeded(eventApi().record(start.get(), stream.get())));
  Gate gate;
  gate.hold(stream.get());
  ASSERT_TRUE(succeeded(eventApi().record(end.get(), stream.get())));
  EXPECT_TRUE(failedWith(eventApi().elapsed(start.get(), end.get(), &elapsed),
                         DIPU_FAILED_PRECONDITION))
      << "still pending";
  EXPECT_EQ(elapsed, -1) << "outputs are untouched on error";
}

TEST_F(Events, ElapsedNeedsTiming) {
  const Stream stream(0);
  const Event start(0);
  const Event end(0);
  ASSERT_TRUE(succeeded(eventApi().record(start.get(), stream.get())));
  ASSERT_TRUE(succeeded(eventApi().record(end.get(), stream.get())));
  stream.synchronize();
  double elapsed = -1;
  EXPECT_TRUE(failedWith(eventApi().elapsed(start.get(), end.get(), &elapsed),
                         DIPU_FAILED_PRECONDITION));
}

}  // namespace
}  // namespace dipu::cts
