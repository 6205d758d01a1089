// SPDX-License-Identifier: Apache-2.0
//
// Eight threads use two devices at once, in every way, and check each byte.
// STRESS_ROUNDS, a positive number, makes each of them work longer or shorter.
#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <random>
#include <system_error>
#include <thread>
#include <vector>

#include "softdevice/soft_debug.h"
#include "softdevice/tests/device_test.h"

namespace dipu::softdevice {
namespace {

constexpr int kThreads = 8;

// Of each thread; 0 for a text that is no positive number. nullptr: the usual.
int roundsOf(const char* text) {
  if (text == nullptr) return 60;
  int rounds = 0;
  const char* const end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, rounds);
  return error == std::errc() && stop == end ? std::max(rounds, 0) : 0;
}

class StressTest : public DeviceTest {
 protected:
  void SetUp() override {
    const char* text = std::getenv("STRESS_ROUNDS");
    rounds_ = roundsOf(text);
    ASSERT_GT(rounds_, 0) << "STRESS_ROUNDS='" << text
                          << "' is no number of rounds; give 1 or more";
  }
  int rounds_ = 0;
};

TEST(StressRoundsTest, OnlyPositiveNumbersCount) {
  EXPECT_EQ(roundsOf("1"), 1);
  EXPECT_EQ(roundsOf("20000"), 20000);
  for (const char* text :
       {"", "0", "-3", "many", "1e4", "60 ", "99999999999"}) {
    EXPECT_EQ(roundsOf(text), 0) << text;
  }
}

// A buffer that moves through devices and streams; what it must hold follows
// from its seed alone.
struct Cargo {
  uint32_t* data = nullptr;
  std::size_t words = 0;
  uint32_t seed = 0;
  soft_event* ready = nullptr;  // recorded behind the last work on it
};

uint32_t wordAt(uint32_t seed, std::size_t index) {
  return (seed + static_cast<uint32_t>(index)) * 2654435761u;
}

// Kernels: write the pattern, or add to it what makes it that of another seed.
struct Write {
  uint32_t* data;
  std::size_t words;
  uint32_t seed;
  void operator()() const {
    for (std::size_t i = 0; i < words; ++i) data[i] = wordAt(seed, i);
  }
};
struct Advance {
  uint32_t* data;
  std::size_t words;
  uint32_t by;
  void operator()() const {
    for (std::size_t i = 0; i < words; ++i) data[i] += by * 2654435761u;
  }
};

// One thread's life: a few streams per device, cargo that it creates, moves
// and destroys, and a place where threads exchange cargo.
class Worker {
 public:
  Worker(uint32_t seed, std::atomic<Cargo*>* exchange)
      : random_(seed), exchange_(exchange) {
    for (int32_t device : {0, 1}) {
      for (soft_stream*& stream : streams_[device]) {
        EXPECT_OK(
            soft_stream_create(device, 0, SOFT_STREAM_NON_BLOCKING, &stream));
      }
    }
  }
  ~Worker() {
    for (auto& streams : streams_) {
      for (soft_stream* stream : streams)
        EXPECT_OK(soft_stream_destroy(stream));
    }
  }

  void run(int rounds) {
    for (int round = 0; round < rounds; ++round) {
      Cargo* cargo = take();
      for (int step = random_() % 6; step > 0; --step) work(cargo);
      if (random_() % 4 == 0) {
        verify(cargo);
        destroy(cargo);
        cargo = nullptr;
      }
      // Another thread goes on with it while this one's work is pending.
      if (Cargo* other = exchange_->exchange(cargo)) destroy(other);
      if (round % 16 == 0) replaceStream();
    }
  }
  void verify(Cargo* cargo) {
    std::vector<uint32_t> found(cargo->words);
    EXPECT_OK(soft_event_synchronize(cargo->ready));
    EXPECT_OK(soft_memcpy(found.data(), cargo->data, bytes(*cargo)));
    for (std::size_t i = 0; i < cargo->words; ++i) {
      ASSERT_EQ(found[i], wordAt(cargo->seed, i)) << "word " << i;
    }
  }
  void destroy(Cargo* cargo) {
    EXPECT_OK(soft_event_synchronize(cargo->ready));
    EXPECT_OK(soft_free(cargo->data));
    EXPECT_OK(soft_event_destroy(cargo->ready));
    delete cargo;
  }

 private:
  static std::size_t bytes(const Cargo& cargo) { return cargo.words * 4; }
  static int32_t deviceOf(const Cargo& cargo) {
    soft_pointer_info info{};
    EXPECT_OK(soft_pointer_get_info(cargo.data, &info));
    return info.device;
  }
  soft_stream* anyStream(int32_t device) {
    return streams_[device][random_() % 2];
  }
  template <typename T>
  static T* on(soft_stream* stream, T* data, std::size_t words) {
    return static_cast<T*>(soft_translate(stream, data, words * sizeof(T)));
  }

  Cargo* take() {
    Cargo* cargo = exchange_->exchange(nullptr);
    if (cargo != nullptr && random_() % 4 != 0) return cargo;
    if (cargo != nullptr) destroy(cargo);
    return create();
  }
  Cargo* create() {
    auto* cargo = new Cargo;
    cargo->words = 1 + random_() % 20000;
    cargo->seed = static_cast<uint32_t>(random_());
    const auto device = static_cast<int32_t>(random_() % 2);
    void* data = nullptr;
    EXPECT_OK(soft_malloc(device, bytes(*cargo), &data));
    cargo->data = static_cast<uint32_t*>(data);
    EXPECT_OK(soft_event_create(device, SOFT_EVENT_DEFAULT, &cargo->ready));
    soft_stream* stream = anyStream(device);
    if (random_() % 2 == 0) {
      std::vector<uint32_t> pattern(cargo->words);
      Write{pattern.data(), cargo->words, cargo->seed}();
      EXPECT_OK(soft_memcpy_async(data, pattern.data(), bytes(*cargo), stream));
    } else {
      uint32_t* target = on(stream, cargo->data, cargo->words);
      EXPECT_OK(launch(stream, Write{target, cargo->words, cargo->seed}));
    }
    EXPECT_OK(soft_event_record(cargo->ready, stream));
    return cargo;
  }

  void work(Cargo* cargo) {
    const int32_t device = deviceOf(*cargo);
    soft_stream* stream = anyStream(device);
    EXPECT_OK(soft_stream_wait_event(stream, cargo->ready));
    if (random_() % 2 == 0) {
      const auto by = static_cast<uint32_t>(random_() % 100);
      uint32_t* target = on(stream, cargo->data, cargo->words);
      EXPECT_OK(launch(stream, Advance{target, cargo->words, by}));
      cargo->seed += by;
      EXPECT_OK(soft_event_record(cargo->ready, stream));
    } else {
      move(cargo, static_cast<int32_t>(random_() % 2), stream);
    }
  }
  // Copies it elsewhere, and frees the old place while the copy may be pending.
  void move(Cargo* cargo, int32_t device, soft_stream* stream) {
    void* data = nullptr;
    EXPECT_OK(soft_malloc(device, bytes(*cargo), &data));
    EXPECT_OK(soft_memset_async(data, 0xee, bytes(*cargo), stream));
    EXPECT_OK(soft_memcpy_async(data, cargo->data, bytes(*cargo), stream));
    soft_event* copied = nullptr;
    EXPECT_OK(soft_event_create(soft_stream_device(stream),
                                SOFT_EVENT_DISABLE_TIMING, &copied));
    EXPECT_OK(soft_event_record(copied, stream));
    soft_stream* next = anyStream(device);
    EXPECT_OK(soft_stream_wait_event(next, copied));
    EXPECT_OK(soft_event_destroy(copied));
    EXPECT_OK(soft_event_destroy(cargo->ready));
    EXPECT_OK(soft_event_create(device, SOFT_EVENT_DEFAULT, &cargo->ready));
    EXPECT_OK(soft_event_record(cargo->ready, next));
    EXPECT_OK(soft_free(cargo->data));
    cargo->data = static_cast<uint32_t*>(data);
  }
  void replaceStream() {
    const auto device = static_cast<int32_t>(random_() % 2);
    soft_stream*& stream = streams_[device][random_() % 2];
    EXPECT_OK(soft_stream_destroy(stream));
    EXPECT_OK(soft_stream_create(device, 0, SOFT_STREAM_NON_BLOCKING, &stream));
  }

  std::mt19937 random_;
  std::atomic<Cargo*>* const exchange_;
  soft_stream* streams_[2][2] = {};
};

void runWorkers(int rounds) {
  std::atomic<Cargo*> exchange{nullptr};
  std::vector<std::thread> threads;
  for (uint32_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back(
        [&, thread] { Worker(thread, &exchange).run(rounds); });
  }
  for (std::thread& thread : threads) thread.join();
  if (Cargo* left = exchange.load()) {
    Worker worker(kThreads, &exchange);
    worker.verify(left);
    worker.destroy(left);
  }
}

TEST_F(StressTest, EightThreads) { runWorkers(rounds_); }

TEST_F(StressTest, EightThreadsWhileOthersWatch) {
  ASSERT_OK(soft_trace_start(100));
  ASSERT_OK(soft_counters_start());
  ASSERT_OK(soft_fault_add("slow_us=30,kernel=+0x"));
  runWorkers(rounds_);
  ASSERT_OK(soft_fault_clear());
  ASSERT_OK(soft_counters_stop());
  ASSERT_OK(soft_trace_stop());
}

TEST_F(StressTest, EightThreadsUnderASchedule) {
  ASSERT_OK(soft_schedule_set(1));
  runWorkers(rounds_);
  ASSERT_OK(soft_schedule_clear());
}

TEST_F(StressTest, MemoryIsAllGivenBack) {
  std::size_t free_bytes = 0;
  std::size_t total = 0;
  runWorkers(rounds_);
  for (int32_t device : {0, 1}) {
    ASSERT_OK(soft_memory_info(device, &free_bytes, &total));
    EXPECT_EQ(free_bytes, total);
  }
}

}  // namespace
}  // namespace dipu::softdevice
