// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "softdevice/soft_debug.h"
#include "softdevice/tests/graph_test_base.h"

namespace dipu::softdevice {
namespace {

constexpr uint64_t kSeeds = 200;

class ScheduleTest : public GraphTestBase {
 protected:
  void TearDown() override {
    EXPECT_OK(soft_fault_clear());
    EXPECT_OK(soft_schedule_clear());
    DeviceTest::TearDown();
  }
};

// Appends a letter to a text when the stream comes to it.
soft_status note(soft_stream* stream, std::string* text, char letter) {
  return launch(stream, [text, letter] { text->push_back(letter); });
}

// A producer writes a value in two steps, a consumer reads it. Whether the
// consumer sees both, with or without the wait that makes sure.
bool consumerSeesAll(soft_stream* producer, soft_stream* consumer,
                     soft_event* event, bool with_wait) {
  int value = 0;
  int seen = 0;
  int* source = &value;
  int* target = &seen;
  EXPECT_OK(launch(producer, [source] { *source += 1; }));
  EXPECT_OK(launch(producer, [source] { *source += 10; }));
  EXPECT_OK(soft_event_record(event, producer));
  if (with_wait) {
    EXPECT_OK(soft_stream_wait_event(consumer, event));
  }
  EXPECT_OK(launch(consumer, [source, target] { *target = *source; }));
  EXPECT_OK(soft_stream_synchronize(consumer));
  EXPECT_OK(soft_stream_synchronize(producer));
  EXPECT_EQ(value, 11);
  return seen == 11;
}

TEST_F(ScheduleTest, FindsAMissingWait) {
  soft_stream* producer = makeStream(0);
  soft_stream* consumer = makeStream(1);
  soft_event* event = makeEvent(0);
  uint64_t wrong = 0;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    ASSERT_OK(soft_schedule_set(seed));
    EXPECT_TRUE(consumerSeesAll(producer, consumer, event, true)) << seed;
    if (!consumerSeesAll(producer, consumer, event, false)) ++wrong;
  }
  EXPECT_GT(wrong, kSeeds / 4);
  EXPECT_LT(wrong, kSeeds) << "it must not always be wrong either";
  ASSERT_OK(soft_event_destroy(event));
}

// What three streams do when nothing orders them but one wait.
std::string interleave(uint64_t seed, soft_stream* const streams[3],
                       soft_event* event, bool slowly) {
  EXPECT_OK(soft_schedule_set(seed));
  std::string text;
  for (int i = 0; i < 4; ++i) {
    EXPECT_OK(note(streams[0], &text, static_cast<char>('a' + i)));
    if (slowly) std::this_thread::sleep_for(std::chrono::microseconds(300));
    EXPECT_OK(note(streams[1], &text, static_cast<char>('A' + i)));
    if (i == 1) {
      EXPECT_OK(soft_event_record(event, streams[1]));
      EXPECT_OK(soft_stream_wait_event(streams[2], event));
    }
    EXPECT_OK(note(streams[2], &text, static_cast<char>('0' + i)));
    if (i == 2) {
      EXPECT_OK(soft_stream_synchronize(streams[2]));
    }
  }
  EXPECT_OK(soft_device_synchronize(0));
  EXPECT_OK(soft_device_synchronize(1));
  return text;
}

TEST_F(ScheduleTest, TheSameSeedGivesTheSameOrder) {
  soft_stream* const streams[] = {makeStream(0), makeStream(1), makeStream(0)};
  soft_event* event = makeEvent(1);
  std::set<std::string> orders;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const std::string order = interleave(seed, streams, event, false);
    ASSERT_EQ(order.size(), 12u);
    EXPECT_LT(order.find('B'), order.find('1')) << order;
    EXPECT_EQ(interleave(seed, streams, event, seed % 8 == 0), order);
    uint64_t steps = 0;
    ASSERT_OK(soft_schedule_steps(&steps));
    EXPECT_GE(steps, 12u);
    orders.insert(order);
  }
  EXPECT_GT(orders.size(), 30u) << "seeds must give different orders";
  ASSERT_OK(soft_event_destroy(event));
}

TEST_F(ScheduleTest, TasksRunOnlyWhenSomebodyWaits) {
  ASSERT_OK(soft_schedule_set(1));
  soft_stream* stream = makeStream(0);
  std::string text;
  ASSERT_OK(note(stream, &text, 'a'));
  EXPECT_EQ(text, "");
  ASSERT_OK(soft_stream_synchronize(stream));
  EXPECT_EQ(text, "a");
}

TEST_F(ScheduleTest, PollingAdvances) {
  ASSERT_OK(soft_schedule_set(2));
  soft_stream* first = makeStream(0);
  soft_stream* second = makeStream(1);
  soft_event* event = nullptr;
  ASSERT_OK(soft_event_create(0, SOFT_EVENT_DEFAULT, &event));
  std::string text;
  ASSERT_OK(note(first, &text, 'a'));
  ASSERT_OK(soft_event_record(event, first));
  ASSERT_OK(soft_stream_wait_event(second, event));
  ASSERT_OK(note(second, &text, 'b'));
  int polls = 0;
  while (soft_event_query(event) == SOFT_NOT_READY) ++polls;
  while (soft_stream_query(second) == SOFT_NOT_READY) ++polls;
  EXPECT_EQ(text, "ab");
  EXPECT_LE(polls, 4) << "one task per query";
  double milliseconds = 0;
  ASSERT_OK(soft_event_record(event, first));
  while (soft_event_elapsed(event, event, &milliseconds) == SOFT_NOT_READY) {
  }
  ASSERT_OK(soft_event_destroy(event));
}

TEST_F(ScheduleTest, FullRingsAdvance) {
  ASSERT_OK(soft_schedule_set(3));
  soft_stream* first = makeStream(0);
  soft_stream* second = makeStream(0);
  std::size_t count = 0;
  auto* counter = &count;
  for (int i = 0; i < 2500; ++i) {
    ASSERT_OK(launch(first, [counter] { ++*counter; }));
    if (i % 2 == 0) {
      ASSERT_OK(launch(second, [counter] { ++*counter; }));
    }
  }
  ASSERT_OK(soft_device_synchronize(0));
  EXPECT_EQ(count, 3750u);
}

TEST_F(ScheduleTest, ATaskMayNotWaitForRoom) {
  ASSERT_OK(soft_schedule_set(4));
  soft_stream* first = makeStream(0);
  static soft_stream* second;
  second = makeStream(0);
  static int accepted;
  static int count;
  static soft_status last;
  accepted = 0;
  count = 0;
  ASSERT_OK(launch(first, [] {
    while ((last = launch(second, [] { ++count; })) == SOFT_OK) ++accepted;
  }));
  ASSERT_OK(soft_stream_synchronize(first));
  ASSERT_OK(soft_stream_synchronize(second));
  EXPECT_EQ(last, SOFT_NOT_PERMITTED);
  EXPECT_EQ(accepted, 1023);
  EXPECT_EQ(count, accepted);
}

TEST_F(ScheduleTest, DefaultStreamsAndHostFunctionsKeepTheirOrder) {
  soft_stream* first = nullptr;
  ASSERT_OK(soft_stream_get_default(0, &first));
  soft_stream* blocking = makeStream(0, SOFT_STREAM_DEFAULT);
  for (uint64_t seed = 0; seed < 20; ++seed) {
    ASSERT_OK(soft_schedule_set(seed));
    std::string text;
    ASSERT_OK(note(blocking, &text, 'a'));
    ASSERT_OK(soft_launch_host_func(
        first,
        [](void* out) { static_cast<std::string*>(out)->push_back('b'); },
        &text));
    ASSERT_OK(note(blocking, &text, 'c'));
    ASSERT_OK(soft_device_synchronize(0));
    EXPECT_EQ(text, "abc");
  }
}

TEST_F(ScheduleTest, BranchesOfAGraphInterleave) {
  soft_stream* streams[] = {makeStream(0), makeStream(0), makeStream(1)};
  std::string text;
  begin(streams[0]);
  ASSERT_OK(note(streams[0], &text, '<'));
  for (int branch : {1, 2}) order(streams[0], streams[branch]);
  for (int i = 0; i < 3; ++i) {
    const char letter = "abc"[i];
    ASSERT_OK(note(streams[i], &text, letter));
    order(streams[i], streams[(i + 1) % 3]);
  }
  order(streams[1], streams[0]);
  order(streams[2], streams[0]);
  ASSERT_OK(note(streams[1], &text, 'x'));
  ASSERT_OK(note(streams[2], &text, 'y'));
  order(streams[1], streams[0]);
  order(streams[2], streams[0]);
  ASSERT_OK(note(streams[0], &text, '>'));
  soft_graph_exec* exec = endAndInstantiate(streams[0]);
  std::set<std::string> orders;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    ASSERT_OK(soft_schedule_set(seed));
    std::string before;
    for (int again = 0; again < 2; ++again) {
      ASSERT_OK(soft_schedule_set(seed));
      text.clear();
      ASSERT_OK(soft_graph_launch(exec, streams[0]));
      ASSERT_OK(soft_stream_synchronize(streams[0]));
      ASSERT_EQ(text.size(), 7u);
      EXPECT_EQ(text.substr(0, 3), "<ab");
      EXPECT_LT(text.find('c'), text.find('y'));
      EXPECT_EQ(text.back(), '>');
      if (again == 0) before = text;
    }
    EXPECT_EQ(text, before);
    orders.insert(text);
  }
  EXPECT_EQ(orders.size(), 3u) << "x may come before, between, after c and y";
  ASSERT_OK(soft_graph_exec_destroy(exec));
}

TEST_F(ScheduleTest, BlockingCopiesSeeWhatCameBefore) {
  soft_stream* stream = makeStream(0);
  int* data = makeArray<int>(0, 1000);
  for (uint64_t seed = 0; seed < 20; ++seed) {
    ASSERT_OK(soft_schedule_set(seed));
    ASSERT_OK(
        soft_memset_async(data, static_cast<int32_t>(seed), 4000, stream));
    unsigned char host[4000];
    ASSERT_OK(soft_memcpy_async(host, data, sizeof(host), stream));
    EXPECT_EQ(host[3999], seed);
  }
  ASSERT_OK(soft_free(data)) << "drains under a schedule";
}

TEST_F(ScheduleTest, DestroyedStreamsFinish) {
  ASSERT_OK(soft_schedule_set(5));
  std::string text;
  for (int i = 0; i < 100; ++i) {
    soft_stream* stream = makeStream(0);
    ASSERT_OK(note(stream, &text, 'x'));
    ASSERT_OK(soft_stream_destroy(stream));
  }
  ASSERT_OK(soft_device_synchronize(0));
  EXPECT_EQ(text.size(), 100u);
}

TEST_F(ScheduleTest, ManyThreadsDoNotDeadlock) {
  ASSERT_OK(soft_schedule_set(6));
  std::atomic<int> count{0};
  auto* counter = &count;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      soft_stream* stream = makeStream(thread % 2);
      for (int i = 0; i < 200; ++i) {
        ASSERT_OK(launch(stream, [counter] { ++*counter; }));
        if (i % 20 == 0) {
          ASSERT_OK(soft_stream_synchronize(stream));
        }
      }
      ASSERT_OK(soft_stream_synchronize(stream));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, 800);
}

TEST_F(ScheduleTest, AHungStreamHoldsNobodyElse) {
  soft_stream* hung = makeStream(0);
  soft_stream* other = makeStream(0);
  const std::string id = std::to_string(soft_stream_id(hung));
  ASSERT_OK(soft_fault_add(("hang=1,stream=" + id).c_str()));
  ASSERT_OK(soft_schedule_set(7));
  std::string text;
  ASSERT_OK(note(hung, &text, 'h'));
  ASSERT_OK(note(other, &text, 'o'));
  ASSERT_OK(soft_stream_synchronize(other));
  EXPECT_EQ(text, "o");
  EXPECT_SOFT(SOFT_NOT_READY, soft_stream_query(hung));
  std::thread releaser([] { EXPECT_OK(soft_fault_release()); });
  ASSERT_OK(soft_stream_synchronize(hung));
  releaser.join();
  EXPECT_EQ(text, "oh");
}

TEST_F(ScheduleTest, ClearingRunsWhatIsLeft) {
  ASSERT_OK(soft_schedule_set(8));
  soft_stream* stream = makeStream(0);
  std::string text;
  ASSERT_OK(note(stream, &text, 'a'));
  ASSERT_OK(soft_schedule_clear());
  EXPECT_EQ(text, "a");
  uint64_t steps = 1;
  ASSERT_OK(soft_schedule_steps(&steps));
  EXPECT_EQ(steps, 0u);
  static std::atomic<bool> ran;
  ran = false;
  ASSERT_OK(launch(stream, [] { ran = true; }));
  while (!ran) std::this_thread::yield();  // by itself again
}

}  // namespace
}  // namespace dipu::softdevice
