// SPDX-License-Identifier: Apache-2.0
//
// What may not be done while a stream is being captured.
#include <functional>
#include <thread>
#include <vector>

#include "softdevice/soft_copy_2d.h"
#include "softdevice/tests/graph_test_base.h"

namespace dipu::softdevice {
namespace {

class CaptureTest : public GraphTestBase {
 protected:
  // Captures on a new stream, does `call`, which is to return `expected`, and
  // checks that the capture is spoilt, tells `word`, and leaves the stream in
  // good health.
  static void expectSpoilt(const std::function<soft_status(soft_stream*)>& call,
                           const char* word,
                           soft_status expected = SOFT_CAPTURE_UNSUPPORTED) {
    soft_stream* stream = makeStream(0);
    begin(stream, SOFT_CAPTURE_RELAXED);
    ASSERT_OK(launch(stream, [] {}));
    EXPECT_SOFT(expected, call(stream));
    EXPECT_NE(std::string(soft_last_message()).find(word), std::string::npos)
        << soft_last_message();
    expectEndsSpoilt(stream, word);
  }
  static void expectEndsSpoilt(soft_stream* stream, const char* word) {
    EXPECT_EQ(captureStatus(stream), SOFT_CAPTURE_STATUS_INVALIDATED);
    EXPECT_SOFT(SOFT_CAPTURE_INVALIDATED, launch(stream, [] {}));
    soft_graph* graph = nullptr;
    EXPECT_SOFT(SOFT_CAPTURE_INVALIDATED,
                soft_stream_end_capture(stream, &graph));
    EXPECT_NE(std::string(soft_last_message()).find(word), std::string::npos)
        << soft_last_message();
    EXPECT_EQ(graph, nullptr);
    expectUsable(stream);
  }
  static void expectUsable(soft_stream* stream) {
    static std::atomic<bool> ran;
    ran = false;
    EXPECT_EQ(captureStatus(stream), SOFT_CAPTURE_STATUS_NONE);
    EXPECT_OK(launch(stream, [] { ran = true; }));
    EXPECT_OK(soft_stream_synchronize(stream));
    EXPECT_TRUE(ran);
  }
  static void expectEnds(soft_stream* stream) {
    EXPECT_OK(soft_graph_destroy(end(stream)));
  }
};

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

TEST_F(CaptureTest, TheHostMayNotWaitForAStreamBeingCaptured) {
  expectSpoilt(soft_stream_query, "soft_stream_query");
  expectSpoilt(soft_stream_synchronize, "soft_stream_synchronize");
  expectSpoilt([](soft_stream*) { return soft_device_synchronize(0); },
               "soft_device_synchronize");
  expectSpoilt(soft_stream_destroy, "soft_stream_destroy");
  expectSpoilt(
      [](soft_stream* stream) {
        return soft_stream_begin_capture(stream, SOFT_CAPTURE_GLOBAL);
      },
      "soft_stream_begin_capture");
  // Another device may be waited for: the capture is a relaxed one.
  soft_stream* stream = makeStream(0);
  begin(stream, SOFT_CAPTURE_RELAXED);
  EXPECT_OK(soft_device_synchronize(1));
  expectEnds(stream);
}

TEST_F(CaptureTest, TheHostMayNotWaitForACapturedEvent) {
  soft_event* event = makeEvent(0);
  for (auto* call : {soft_event_query, soft_event_synchronize}) {
    const char* name =
        call == soft_event_query ? "soft_event_query" : "soft_event_synchron";
    expectSpoilt(
        [&](soft_stream* stream) {
          EXPECT_OK(soft_event_record(event, stream));
          return call(event);
        },
        name);
    EXPECT_SOFT(SOFT_CAPTURE_UNSUPPORTED, call(event)) << "the capture is over";
  }
  soft_stream* stream = makeStream(0);
  EXPECT_SOFT(SOFT_CAPTURE_UNSUPPORTED, soft_stream_wait_event(stream, event));
  ASSERT_OK(soft_event_record(event, stream));
  EXPECT_OK(soft_event_synchronize(event)) << "recorded anew, it is usable";
  EXPECT_OK(soft_event_destroy(event));
}

TEST_F(CaptureTest, WaitsMayNotLeaveTheCapture) {
  soft_event* event = makeEvent(0);
  soft_event* never = makeEvent(0);
  soft_stream* outside = makeStream(0);
  ASSERT_OK(soft_event_record(event, outside));
  ASSERT_OK(soft_stream_synchronize(outside));
  expectSpoilt(
      [&](soft_stream* stream) {
        EXPECT_OK(soft_stream_wait_event(stream, never));
        return soft_stream_wait_event(stream, event);
      },
      "soft_stream_wait_event");
  expectUsable(outside);
  EXPECT_OK(soft_event_destroy(event));
  EXPECT_OK(soft_event_destroy(never));
}

TEST_F(CaptureTest, CapturesMayNotWaitForEachOther) {
  soft_stream* streams[] = {makeStream(0), makeStream(1)};
  soft_event* event = makeEvent(0);
  for (soft_stream* stream : streams) begin(stream);
  ASSERT_OK(soft_event_record(event, streams[0]));
  EXPECT_SOFT(SOFT_CAPTURE_UNSUPPORTED,
              soft_stream_wait_event(streams[1], event));
  for (soft_stream* stream : streams) {
    expectEndsSpoilt(stream, "another capture");
  }
  EXPECT_OK(soft_event_destroy(event));
}

TEST_F(CaptureTest, PageableMemoryMayNotBeCopied) {
  static char host[1 << 20];
  auto* device = makeArray<char>(0, sizeof(host));
  for (std::size_t bytes : {std::size_t{16}, sizeof(host)}) {
    expectSpoilt(
        [&](soft_stream* stream) {
          return soft_memcpy_async(device, host, bytes, stream);
        },
        "soft_memcpy_async: pageable");
    expectSpoilt(
        [&](soft_stream* stream) {
          return soft_memcpy_async(host, device, bytes, stream);
        },
        "soft_memcpy_async: pageable");
  }
  expectSpoilt(
      [&](soft_stream* stream) {
        return soft_memcpy_2d_async(device, 64, host, 64, 16, 4, stream);
      },
      "soft_memcpy_2d_async: pageable");
}

TEST_F(CaptureTest, AnIllegalAddressSpoilsTheCapture) {
  static int host;
  expectSpoilt(
      [](soft_stream* stream) {
        EXPECT_EQ(soft_translate(stream, &host, sizeof(host)), nullptr);
        return launch(stream, [] {});
      },
      "illegal address", SOFT_CAPTURE_INVALIDATED);
}

TEST_F(CaptureTest, WrongArgumentsSpoilNothing) {
  soft_stream* stream = makeStream(0);
  begin(stream);
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_launch(stream, nullptr, nullptr, 0));
  EXPECT_SOFT(SOFT_INVALID_HANDLE, soft_event_record(makeEvent(1), stream));
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_stream_end_capture(stream, nullptr));
  EXPECT_EQ(captureStatus(stream), SOFT_CAPTURE_STATUS_ACTIVE);
  expectEnds(stream);
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_stream_begin_capture(stream, 3));
  EXPECT_SOFT(SOFT_INVALID_HANDLE, soft_stream_begin_capture(nullptr, 0));
  soft_capture_mode mode = -1;
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_thread_exchange_capture_mode(&mode));
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

TEST_F(CaptureTest, UnsafeCallsAreRefusedByMode) {
  void* pinned = nullptr;
  ASSERT_OK(soft_host_malloc(4096, &pinned));
  void* device = makeArray<char>(0, 4096);
  static char host[4096];
  soft_stream* idle = makeStream(1);
  soft_event* event = makeEvent(1);
  ASSERT_OK(soft_event_record(event, idle));
  void* out = nullptr;
  const std::vector<std::function<soft_status()>> calls = {
      [&] { return soft_malloc(0, 16, &out); },
      [&] { return soft_free(device); },
      [&] { return soft_host_malloc(16, &out); },
      [&] { return soft_host_free(pinned); },
      [&] { return soft_host_register(host, sizeof(host)); },
      [&] { return soft_host_unregister(host); },
      [&] { return soft_memcpy(device, host, 16); },
      [&] { return soft_memcpy_2d(device, 16, host, 16, 16, 1); },
      [&] { return soft_device_synchronize(1); },
      [&] { return soft_stream_synchronize(idle); },
      [&] { return soft_stream_query(idle); },
      [&] { return soft_event_query(event); },
      [&] { return soft_event_synchronize(event); },
  };
  for (const auto& call : calls) {
    soft_stream* stream = makeStream(0);
    begin(stream, SOFT_CAPTURE_THREAD_LOCAL);
    EXPECT_SOFT(SOFT_CAPTURE_UNSUPPORTED, call());
    soft_graph* graph = nullptr;
    EXPECT_SOFT(SOFT_CAPTURE_INVALIDATED,
                soft_stream_end_capture(stream, &graph));
    ASSERT_OK(soft_stream_destroy(stream));
  }
  EXPECT_OK(soft_free(device));
  EXPECT_OK(soft_host_free(pinned));
  EXPECT_OK(soft_event_destroy(event));
}

// Whether a soft_malloc is refused that comes from a thread in `thread_mode`
// while a capture in `mode` is under way.
bool isRefused(soft_capture_mode mode, soft_capture_mode thread_mode,
               soft_stream* stream, bool same_thread) {
  EXPECT_OK(soft_stream_begin_capture(stream, mode));
  soft_status status = SOFT_OK;
  void* memory = nullptr;
  const auto allocate = [&] {
    soft_capture_mode exchanged = thread_mode;
    EXPECT_OK(soft_thread_exchange_capture_mode(&exchanged));
    status = soft_malloc(0, 16, &memory);
    EXPECT_OK(soft_thread_exchange_capture_mode(&exchanged));
    EXPECT_EQ(exchanged, thread_mode);
  };
  if (same_thread) {
    allocate();
  } else {
    std::thread(allocate).join();
  }
  soft_graph* graph = nullptr;
  EXPECT_SOFT(status == SOFT_OK ? SOFT_OK : SOFT_CAPTURE_INVALIDATED,
              soft_stream_end_capture(stream, &graph));
  EXPECT_OK(soft_graph_destroy(graph));
  EXPECT_OK(soft_free(memory));
  return status != SOFT_OK;
}

TEST_F(CaptureTest, TheModeOfTheThreadDecidesWhatItMayHarm) {
  constexpr soft_capture_mode kModes[] = {
      SOFT_CAPTURE_GLOBAL, SOFT_CAPTURE_THREAD_LOCAL, SOFT_CAPTURE_RELAXED};
  soft_stream* stream = makeStream(0);
  for (soft_capture_mode mode : kModes) {
    for (soft_capture_mode thread_mode : kModes) {
      const bool own =
          mode != SOFT_CAPTURE_RELAXED && thread_mode != SOFT_CAPTURE_RELAXED;
      const bool others =
          mode == SOFT_CAPTURE_GLOBAL && thread_mode == SOFT_CAPTURE_GLOBAL;
      EXPECT_EQ(isRefused(mode, thread_mode, stream, true), own)
          << mode << " " << thread_mode;
      EXPECT_EQ(isRefused(mode, thread_mode, stream, false), others)
          << mode << " " << thread_mode;
    }
  }
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
