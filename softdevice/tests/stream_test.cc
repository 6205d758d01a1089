// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include "softdevice/tests/device_test.h"

namespace dipu::softdevice {
namespace {

using StreamTest = DeviceTest;

TEST_F(StreamTest, RunsTasksInOrder) {
  soft_stream* stream = makeStream(0);
  std::vector<int> seen;
  auto* out = &seen;
  // More than the ring holds, so it wraps and the producer waits.
  for (int i = 0; i < 5000; ++i) {
    ASSERT_OK(launch(stream, [out, i] { out->push_back(i); }));
  }
  ASSERT_OK(soft_stream_synchronize(stream));
  ASSERT_EQ(seen.size(), 5000u);
  for (int i = 0; i < 5000; ++i) ASSERT_EQ(seen[i], i);
}

TEST_F(StreamTest, QueryCountsTheRunningTask) {
  soft_stream* stream = makeStream(0);
  Latch latch;
  EXPECT_OK(soft_stream_query(stream));
  latch.hold(stream);
  latch.waitUntilEntered();
  EXPECT_SOFT(SOFT_NOT_READY, soft_stream_query(stream));
  latch.open();
  ASSERT_OK(soft_stream_synchronize(stream));
  EXPECT_OK(soft_stream_query(stream));
}

TEST_F(StreamTest, FullRingMakesTheProducerWait) {
  soft_stream* stream = makeStream(0);
  Latch latch;
  latch.hold(stream);
  std::atomic<int> launched{0};
  std::atomic<int> run{0};
  auto* run_count = &run;
  std::thread producer([&] {
    for (int i = 0; i < 3000; ++i) {
      EXPECT_OK(launch(stream, [run_count] { ++*run_count; }));
      ++launched;
    }
  });
  while (launched < 1000) std::this_thread::yield();
  EXPECT_LT(launched, 3000);
  EXPECT_EQ(run, 0);
  latch.open();
  producer.join();
  ASSERT_OK(soft_stream_synchronize(stream));
  EXPECT_EQ(run, 3000);
}

TEST_F(StreamTest, AFullRingTakesATaskAsSoonAsOneHasFinished) {
  constexpr int kRoom = 1023;
  soft_stream* stream = makeStream(0);
  Latch first;
  Latch rest;
  first.hold(stream);
  rest.hold(stream);
  for (int i = 2; i < kRoom; ++i) ASSERT_OK(launch(stream, [] {}));
  EXPECT_SOFT(SOFT_NOT_READY, soft_stream_query(stream));
  std::thread opener([&] { first.open(); });
  // The second latch stays closed: no more than one place gets free.
  EXPECT_OK(launch(stream, [] {}));
  opener.join();
  rest.open();
  ASSERT_OK(soft_stream_synchronize(stream));
}

TEST_F(StreamTest, LargePayloadsAreCopied) {
  soft_stream* stream = makeStream(0);
  struct Payload {
    int numbers[1000];
    int* sum;
  };
  static_assert(sizeof(Payload) > SOFT_INLINE_PAYLOAD);
  int sum = 0;
  Latch latch;
  latch.hold(stream);
  {
    auto payload = std::make_unique<Payload>();
    for (int i = 0; i < 1000; ++i) payload->numbers[i] = i;
    payload->sum = &sum;
    ASSERT_OK(soft_launch(
        stream,
        [](void* data) {
          auto* copy = static_cast<Payload*>(data);
          EXPECT_EQ(reinterpret_cast<uintptr_t>(copy) % 16, 0u);
          for (int number : copy->numbers) *copy->sum += number;
        },
        payload.get(), sizeof(Payload)));
  }
  latch.open();
  ASSERT_OK(soft_stream_synchronize(stream));
  EXPECT_EQ(sum, 999 * 1000 / 2);
}

TEST_F(StreamTest, HostFunctionsKeepTheirPlace) {
  soft_stream* stream = makeStream(0);
  std::vector<int> seen;
  auto* out = &seen;
  ASSERT_OK(launch(stream, [out] { out->push_back(1); }));
  ASSERT_OK(soft_launch_host_func(
      stream,
      [](void* list) { static_cast<std::vector<int>*>(list)->push_back(2); },
      &seen));
  ASSERT_OK(launch(stream, [out] { out->push_back(3); }));
  ASSERT_OK(soft_stream_synchronize(stream));
  EXPECT_EQ(seen, (std::vector<int>{1, 2, 3}));
}

TEST_F(StreamTest, BlockingCallsFromATaskAreErrors) {
  soft_stream* stream = makeStream(0);
  static soft_status status;
  static soft_stream* seen;
  ASSERT_OK(launch(stream, [] {
    seen = soft_current_stream();
    status = soft_device_synchronize(0);
  }));
  ASSERT_OK(soft_stream_synchronize(stream));
  EXPECT_SOFT(SOFT_NOT_PERMITTED, status);
  EXPECT_EQ(seen, stream);
  EXPECT_EQ(soft_current_stream(), nullptr);
}

TEST_F(StreamTest, DestroyLetsTheWorkFinishWithoutWaiting) {
  soft_stream* stream = makeStream(0);
  Latch latch;
  latch.hold(stream);
  static std::atomic<bool> ran;
  ran = false;
  ASSERT_OK(launch(stream, [] { ran = true; }));
  ASSERT_OK(soft_stream_destroy(stream));
  EXPECT_FALSE(ran) << "destroy must not wait";
  EXPECT_SOFT(SOFT_INVALID_HANDLE, launch(stream, [] {}));
  EXPECT_SOFT(SOFT_INVALID_HANDLE, soft_stream_query(stream));
  EXPECT_SOFT(SOFT_INVALID_HANDLE, soft_stream_destroy(stream));
  latch.open();
  ASSERT_OK(soft_device_synchronize(0));
  EXPECT_TRUE(ran);
}

TEST_F(StreamTest, DestroyDoesNotWaitForAFullRing) {
  soft_stream* stream = makeStream(0);
  Latch latch;
  latch.hold(stream);
  latch.waitUntilEntered();
  static std::atomic<int> ran;
  ran = 0;
  // The held task and these are as many as may be pending.
  constexpr int kTasks = 1022;
  for (int i = 0; i < kTasks; ++i) ASSERT_OK(launch(stream, [] { ++ran; }));
  ASSERT_OK(soft_stream_destroy(stream));
  EXPECT_EQ(ran, 0) << "the gate is opened only now";
  latch.open();
  ASSERT_OK(soft_device_synchronize(0));
  EXPECT_EQ(ran, kTasks);
}

// The other stream may wait for the task.
TEST_F(StreamTest, ATaskMayNotWaitForRoomOfAnotherStream) {
  static soft_stream* full;
  static int accepted;
  static soft_status last;
  full = makeStream(0);
  accepted = 0;
  soft_stream* stream = makeStream(0);
  soft_event* done = nullptr;
  ASSERT_OK(soft_event_create(0, SOFT_EVENT_DISABLE_TIMING, &done));
  Latch latch;
  latch.hold(stream);
  ASSERT_OK(launch(stream, [] {
    while ((last = launch(full, [] {})) == SOFT_OK) ++accepted;
  }));
  ASSERT_OK(soft_event_record(done, stream));
  ASSERT_OK(soft_stream_wait_event(full, done));
  latch.open();
  ASSERT_OK(soft_stream_synchronize(full));
  EXPECT_EQ(last, SOFT_NOT_PERMITTED);
  EXPECT_EQ(accepted, 1022);
  ASSERT_OK(soft_event_destroy(done));
}

TEST_F(StreamTest, HandlesAreChecked) {
  soft_stream* first = nullptr;
  ASSERT_OK(soft_stream_get_default(1, &first));
  EXPECT_EQ(soft_stream_id(first), 1u);
  EXPECT_EQ(soft_stream_device(first), 1);
  EXPECT_SOFT(SOFT_INVALID_HANDLE, soft_stream_destroy(first));
  EXPECT_SOFT(SOFT_INVALID_HANDLE, soft_stream_synchronize(nullptr));
  EXPECT_SOFT(SOFT_INVALID_HANDLE, soft_launch(nullptr, nullptr, nullptr, 0));
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_launch(first, nullptr, nullptr, 0));
  soft_stream* stream = nullptr;
  EXPECT_SOFT(SOFT_INVALID_DEVICE, soft_stream_create(2, 0, 0, &stream));
  EXPECT_SOFT(SOFT_INVALID_VALUE, soft_stream_create(0, 0, 8, &stream));
  ASSERT_OK(soft_stream_create(0, -100, 0, &stream));
  EXPECT_EQ(soft_stream_priority(stream), SOFT_PRIORITY_GREATEST);
}

TEST_F(StreamTest, IdsAreNeverReused) {
  std::set<uint64_t> ids;
  for (int i = 0; i < 50; ++i) {
    soft_stream* stream = makeStream(0);
    EXPECT_TRUE(ids.insert(soft_stream_id(stream)).second);
    ASSERT_OK(soft_stream_destroy(stream));
  }
}

TEST_F(StreamTest, DefaultStreamOrdersWithBlockingStreams) {
  soft_stream* first = nullptr;
  ASSERT_OK(soft_stream_get_default(0, &first));
  soft_stream* blocking = makeStream(0, SOFT_STREAM_DEFAULT);
  soft_stream* free_stream = makeStream(0, SOFT_STREAM_NON_BLOCKING);
  std::vector<int> seen;
  auto* out = &seen;
  Latch latch;
  latch.hold(blocking);
  ASSERT_OK(launch(blocking, [out] { out->push_back(1); }));
  ASSERT_OK(launch(first, [out] { out->push_back(2); }));
  ASSERT_OK(launch(blocking, [out] { out->push_back(3); }));
  EXPECT_SOFT(SOFT_NOT_READY, soft_stream_query(first));
  ASSERT_OK(launch(free_stream, [] {}));
  ASSERT_OK(soft_stream_synchronize(free_stream));
  latch.open();
  ASSERT_OK(soft_device_synchronize(0));
  EXPECT_EQ(seen, (std::vector<int>{1, 2, 3}));
}

TEST_F(StreamTest, QueryNeverBlocks) {
  soft_stream* first = nullptr;
  ASSERT_OK(soft_stream_get_default(0, &first));
  soft_stream* blocking = makeStream(0, SOFT_STREAM_DEFAULT);
  Latch latch;
  latch.hold(blocking);
  ASSERT_OK(launch(first, [] {}));
  // More often than a ring has places.
  for (int i = 0; i < 3000; ++i) {
    ASSERT_EQ(soft_stream_query(first), SOFT_NOT_READY);
  }
  latch.open();
  EXPECT_OK(soft_stream_synchronize(first));
}

TEST_F(StreamTest, ManyThreadsAndStreams) {
  constexpr int kStreams = 4;
  constexpr int kThreads = 4;
  constexpr int kTasks = 3000;
  soft_stream* streams[kStreams];
  long counts[kStreams] = {};  // each written by one worker only
  for (int i = 0; i < kStreams; ++i) streams[i] = makeStream(i % 2);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int task = 0; task < kTasks; ++task) {
        const int target = (thread + task) % kStreams;
        long* count = &counts[target];
        ASSERT_OK(launch(streams[target], [count] { ++*count; }));
        if (task % 500 == 0) {
          ASSERT_OK(soft_stream_synchronize(streams[task % kStreams]));
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_OK(soft_device_synchronize(0));
  ASSERT_OK(soft_device_synchronize(1));
  for (long count : counts) EXPECT_EQ(count, kThreads * kTasks / kStreams);
}

TEST_F(StreamTest, MayBeCreatedDuringAReset) {
  std::atomic<int> creating{4};
  std::vector<std::thread> creators;
  for (int i = 0; i < 4; ++i) {
    creators.emplace_back([&] {
      for (int count = 0; count < 200; ++count) {
        // Nothing can be enqueued any more on one that a reset has found.
        const soft_status status = launch(makeStream(0), [] {});
        EXPECT_TRUE(status == SOFT_OK || status == SOFT_INVALID_HANDLE);
      }
      --creating;
    });
  }
  while (creating != 0) EXPECT_OK(soft_device_reset(0));
  for (std::thread& creator : creators) creator.join();
}

TEST_F(StreamTest, OneTeamPerDeviceAtATime) {
  static std::atomic<int> inside;
  static std::atomic<int> most;
  static std::atomic<int> nested;
  inside = most = nested = 0;
  EXPECT_EQ(soft_team_begin(), 1) << "outside of tasks there is no team";
  soft_team_end();
  soft_stream* streams[] = {makeStream(0), makeStream(0)};
  for (int i = 0; i < 200; ++i) {
    ASSERT_OK(launch(streams[i % 2], [] {
      soft_team_begin();
      const int now = ++inside;
      most = std::max<int>(most, now);
      nested = std::max<int>(nested, soft_team_begin());
      soft_team_end();
      --inside;
      soft_team_end();
    }));
  }
  ASSERT_OK(soft_device_synchronize(0));
  EXPECT_EQ(most, 1);
  EXPECT_EQ(nested, 1);
}

}  // namespace
}  // namespace dipu::softdevice
