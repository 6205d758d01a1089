// SPDX-License-Identifier: Apache-2.0
//
// How captures begin and end.
#include <cstdint>
#include <thread>
#include <vector>

#include "softdevice/tests/graph_test_base.h"

namespace dipu::softdevice {
namespace {

using CaptureTest = GraphTestBase;

TEST_F(CaptureTest, StatusAndNumber) {
  soft_stream* streams[] = {makeStream(0), makeStream(0)};
  uint64_t ids[2] = {};
  soft_capture_status status = -1;
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(captureStatus(streams[i]), SOFT_CAPTURE_STATUS_NONE);
    begin(streams[i]);
    ASSERT_OK(soft_stream_get_capture(streams[i], &status, &ids[i]));
    EXPECT_EQ(status, SOFT_CAPTURE_STATUS_ACTIVE);
    expectEnds(streams[i]);
    EXPECT_EQ(captureStatus(streams[i]), SOFT_CAPTURE_STATUS_NONE);
  }
  EXPECT_NE(ids[0], 0u);
  EXPECT_NE(ids[0], ids[1]);
  ASSERT_OK(soft_stream_get_capture(streams[0], &status, &ids[0]));
  EXPECT_EQ(ids[0], 0u);
}

TEST_F(CaptureTest, WrongArgumentsSpoilNothing) {
  soft_stream* stream = makeStream(0);
  begin(stream);
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_launch(stream, nullptr, nullptr, 0));
  soft_event* foreign = makeEvent(1);
  EXPECT_SOFT(SOFT_INVALID_HANDLE, soft_event_record(foreign, stream));
  EXPECT_OK(soft_event_destroy(foreign));
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_stream_end_capture(stream, nullptr));
  EXPECT_EQ(captureStatus(stream), SOFT_CAPTURE_STATUS_ACTIVE);
  expectEnds(stream);
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_stream_begin_capture(stream, 3));
  EXPECT_SOFT(SOFT_INVALID_HANDLE, soft_stream_begin_capture(nullptr, 0));
  soft_capture_mode mode = -1;
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_thread_exchange_capture_mode(&mode));
  expectUsable(stream);
}

TEST_F(CaptureTest, PayloadsThatNobodyCanHoldAreRefused) {
  soft_stream* stream = makeStream(0);
  begin(stream);
  const int payload = 0;
  for (const size_t bytes : {SIZE_MAX, SIZE_MAX - 64, SIZE_MAX / 2}) {
    EXPECT_SOFT(SOFT_OUT_OF_MEMORY,
                soft_launch(stream, [](void*) {}, &payload, bytes));
  }
  expectEnds(stream);
  expectUsable(stream);
}

TEST_F(CaptureTest, TheDefaultStreamStaysOutside) {
  soft_stream* first = nullptr;
  ASSERT_OK(soft_stream_get_default(0, &first));
  EXPECT_SOFT(SOFT_CAPTURE_UNSUPPORTED,
              soft_stream_begin_capture(first, SOFT_CAPTURE_RELAXED));
  soft_event* event = makeEvent(0);
  expectSpoilt(
      [&](soft_stream* stream) {
        EXPECT_OK(soft_event_record(event, stream));
        return soft_stream_wait_event(first, event);
      },
      "cannot join", SOFT_CAPTURE_IMPLICIT);
  EXPECT_OK(soft_event_destroy(event));
  // It runs beside a stream that does not order itself with it.
  soft_stream* stream = makeStream(0);
  begin(stream, SOFT_CAPTURE_RELAXED);
  EXPECT_OK(launch(first, [] {}));
  expectEnds(stream);
  expectUsable(first);
}

TEST_F(CaptureTest, TheDefaultStreamMayNotWaitForAnOrderedStream) {
  soft_stream* first = nullptr;
  ASSERT_OK(soft_stream_get_default(0, &first));
  soft_stream* stream = makeStream(0, SOFT_STREAM_DEFAULT);
  static std::atomic<int> runs;
  runs = 0;
  Latch latch;
  latch.hold(first);
  begin(stream);
  ASSERT_OK(launch(stream, [] { ++runs; }));
  soft_graph_exec* exec = endAndInstantiate(stream);
  begin(stream);
  EXPECT_SOFT(SOFT_CAPTURE_IMPLICIT, launch(first, [] {}));
  latch.open();
  expectEndsSpoilt(stream, "default stream");
  ASSERT_OK(soft_graph_launch(exec, stream));
  ASSERT_OK(soft_stream_synchronize(stream));
  EXPECT_EQ(runs, 1);
  EXPECT_OK(soft_graph_exec_destroy(exec));
}

TEST_F(CaptureTest, EndNeedsItsBeginAndItsThread) {
  soft_stream* stream = makeStream(0);
  soft_stream* other = makeStream(0);
  soft_graph* graph = nullptr;
  EXPECT_SOFT(SOFT_CAPTURE_UNMATCHED, soft_stream_end_capture(stream, &graph));
  begin(stream);
  order(stream, other);
  EXPECT_EQ(captureStatus(other), SOFT_CAPTURE_STATUS_ACTIVE);
  EXPECT_SOFT(SOFT_CAPTURE_UNMATCHED, soft_stream_end_capture(other, &graph));
  std::thread([&] {
    EXPECT_SOFT(SOFT_CAPTURE_UNMATCHED,
                soft_stream_end_capture(stream, &graph));
  }).join();
  EXPECT_EQ(captureStatus(stream), SOFT_CAPTURE_STATUS_ACTIVE);
  expectEnds(stream);
  expectUsable(other);
  begin(stream, SOFT_CAPTURE_RELAXED);
  std::thread([&] { expectEnds(stream); }).join();
}

TEST_F(CaptureTest, ABranchMustBeJoined) {
  soft_stream* stream = makeStream(0);
  soft_stream* other = makeStream(1);
  soft_graph* graph = nullptr;
  begin(stream);
  order(stream, other);
  ASSERT_OK(launch(other, [] {}));
  order(other, stream);
  ASSERT_OK(launch(other, [] {}));  // not waited for
  EXPECT_SOFT(SOFT_CAPTURE_UNJOINED, soft_stream_end_capture(stream, &graph));
  const std::string text = soft_last_message();
  EXPECT_NE(text.find(std::to_string(soft_stream_id(other))), std::string::npos)
      << text;
  EXPECT_EQ(graph, nullptr);
  expectUsable(stream);
  expectUsable(other);
}

TEST_F(CaptureTest, AResetInvalidatesCapturesOfTheDevice) {
  soft_stream* kept = makeStream(0);
  soft_stream* branch = makeStream(1);
  soft_stream* gone = makeStream(1);
  begin(kept);
  order(kept, branch);
  begin(gone);
  ASSERT_OK(soft_device_reset(1));
  expectEndsSpoilt(kept, "soft_device_reset");
  soft_graph* graph = nullptr;
  EXPECT_SOFT(SOFT_INVALID_HANDLE, soft_stream_end_capture(gone, &graph));
  void* memory = nullptr;
  EXPECT_OK(soft_malloc(1, 16, &memory)) << "no capture is left";
}

TEST_F(CaptureTest, ThreadsCaptureAtTheSameTime) {
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 2; ++thread) {
    threads.emplace_back([thread] {
      soft_stream* stream = makeStream(thread);
      long sum = 0;
      auto* out = &sum;
      for (int round = 0; round < 50; ++round) {
        soft_capture_mode mode = SOFT_CAPTURE_THREAD_LOCAL;
        ASSERT_OK(soft_thread_exchange_capture_mode(&mode));
        begin(stream, SOFT_CAPTURE_THREAD_LOCAL);
        for (int i = 0; i < 10; ++i) {
          ASSERT_OK(launch(stream, [out, i] { *out += i; }));
        }
        soft_graph_exec* exec = endAndInstantiate(stream);
        for (int replay = 0; replay < 5; ++replay) {
          ASSERT_OK(soft_graph_launch(exec, stream));
        }
        EXPECT_OK(soft_graph_exec_destroy(exec));
        ASSERT_OK(soft_stream_synchronize(stream));
      }
      EXPECT_EQ(sum, 50 * 5 * 45);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace dipu::softdevice
