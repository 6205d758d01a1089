// SPDX-License-Identifier: Apache-2.0
//
// Ranks of a communicator as threads, and arrays on their devices. More ranks
// than devices share them.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "tests/cts/fixture.h"

namespace dipu::cts {

using Values = std::vector<int32_t>;

inline const dipu_communicator_api& api() { return *vendor().communicator; }

// One rank, in its thread.
class Rank {
 public:
  Rank(int32_t rank, int32_t size, const std::vector<uint8_t>& id)
      : rank(rank), size(size), device(rank % deviceCount()), stream(device) {
    dipu_communicator_create_args args{};
    args.struct_size = sizeof(args);
    args.device = device;
    args.rank = rank;
    args.world_size = size;
    args.unique_id = id.data();
    EXPECT_TRUE(succeeded(api().create(&args, &communicator)));
  }
  ~Rank() {
    api().destroy(communicator);
    stream.synchronize();
  }
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  dipu_stream* queue() const { return stream.get(); }
  // The error that ends the communicator, once it has come.
  ErrorPtr awaitError() const {
    const auto start = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - start <
           std::chrono::seconds(30)) {
      if (ErrorPtr error{api().get_async_error(communicator)}) return error;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return nullptr;
  }
  void expectNoError() const {
    stream.synchronize();
    EXPECT_TRUE(succeeded(api().get_async_error(communicator)));
  }

  // Lives as long as the rank: freeing waits for devices, and so for ranks that
  // may wait for this one.
  void* allocate(size_t bytes) {
    memory_.push_back(std::make_unique<DeviceBuffer>(device, bytes));
    return memory_.back()->get();
  }

  const int32_t rank;
  const int32_t size;
  const int32_t device;
  const Stream stream;
  dipu_communicator* communicator = nullptr;

 private:
  std::vector<std::unique_ptr<DeviceBuffer>> memory_;
};

class Array {
 public:
  Array(Rank& rank, const Values& values)
      : count_(values.size()),
        device_(rank.device),
        data_(rank.allocate((count_ + 1) * sizeof(int32_t))) {
    EXPECT_TRUE(succeeded(memoryApi().copy(
        data_, device_, values.data(), DIPU_HOST, count_ * sizeof(int32_t))));
  }
  int32_t* get() const { return static_cast<int32_t*>(data_); }
  Values read() const {
    const std::vector<uint8_t> bytes =
        readBack(data_, device_, count_ * sizeof(int32_t));
    Values values(count_);
    if (count_ != 0) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }

 private:
  size_t count_;
  int32_t device_;
  void* data_;
};

inline std::vector<uint8_t> makeId() {
  std::vector<uint8_t> id(api().unique_id_size);
  EXPECT_TRUE(succeeded(api().get_unique_id(id.data())));
  return id;
}

inline void runRanks(int32_t size, const std::function<void(Rank&)>& body) {
  const std::vector<uint8_t> id = makeId();
  std::vector<std::thread> threads;
  for (int32_t i = 0; i < size; ++i) {
    threads.emplace_back([&, i] {
      Rank rank(i, size, id);
      if (rank.communicator != nullptr) body(rank);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

inline Values valuesOf(int32_t rank, size_t count) {
  Values values(count);
  for (size_t i = 0; i < count; ++i) {
    values[i] = static_cast<int32_t>(i % 1000) * 16 + rank;
  }
  return values;
}

inline Values sumOf(int32_t size, size_t count) {
  Values sum(count);
  for (int32_t rank = 0; rank < size; ++rank) {
    const Values values = valuesOf(rank, count);
    for (size_t i = 0; i < count; ++i) sum[i] += values[i];
  }
  return sum;
}

inline Values part(const Values& values, int32_t index, size_t count) {
  return Values(values.begin() + index * count,
                values.begin() + (index + 1) * count);
}

// Skips vendors without the table.
class CommunicatorTest : public VendorTest {
 protected:
  void SetUp() override {
    VendorTest::SetUp();
    if (IsSkipped()) return;
    if (vendor().communicator == nullptr) {
      GTEST_SKIP() << "the vendor has no communicator table";
    }
  }
};

// By the number of ranks.
class RanksTest : public CommunicatorTest,
                  public ::testing::WithParamInterface<int32_t> {};

}  // namespace dipu::cts
