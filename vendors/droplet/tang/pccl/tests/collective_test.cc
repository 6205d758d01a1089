// SPDX-License-Identifier: Apache-2.0
//
// What collectives compute, with threads as ranks.
#include <gtest/gtest.h>

#include <mutex>
#include <tuple>
#include <vector>

#include "vendors/droplet/tang/pccl/tests/ranks.h"

namespace dipu::pccl::testing {
namespace {

using Values = std::vector<int32_t>;

// The part of a rank is unlike that of another at every place.
Values valuesOf(int rank, std::size_t count) {
  Values values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = static_cast<int32_t>(i % 1000 * 8 + rank);
  }
  return values;
}

Values sumOf(int ranks, std::size_t count) {
  Values sum(count);
  for (int rank = 0; rank < ranks; ++rank) {
    const Values values = valuesOf(rank, count);
    for (std::size_t i = 0; i < count; ++i) sum[i] += values[i];
  }
  return sum;
}

Values part(const Values& values, int rank, int ranks) {
  const std::size_t count = values.size() / ranks;
  return Values(values.begin() + rank * count,
                values.begin() + (rank + 1) * count);
}

// Number of ranks, elements, and whether in place. The counts: none, one, one
// step, one round, several rounds, and a rest.
class CollectiveTest
    : public ::testing::TestWithParam<std::tuple<int, std::size_t, bool>> {
 protected:
  void SetUp() override { setSettings(); }
  int ranks() const { return std::get<0>(GetParam()); }
  std::size_t count() const { return std::get<1>(GetParam()); }
  bool isInPlace() const { return std::get<2>(GetParam()); }
};

TEST_P(CollectiveTest, AllReduce) {
  runThreads(ranks(), [&](Rank& self) {
    const DeviceArray<int32_t> send(valuesOf(self.rank, count()));
    const DeviceArray<int32_t> other(count());
    int32_t* recv = isInPlace() ? send.get() : other.get();
    REQUIRE(pcclAllReduce(send.get(), recv, count(), pcclInt32, pcclSum,
                          self.comm, self.stream) == pcclSuccess);
    self.synchronize();
    EXPECT_EQ((isInPlace() ? send : other).read(), sumOf(self.size, count()));
    if (!isInPlace()) {
      EXPECT_EQ(send.read(), valuesOf(self.rank, count()));
    }
  });
}

TEST_P(CollectiveTest, Broadcast) {
  runThreads(ranks(), [&](Rank& self) {
    const DeviceArray<int32_t> send(valuesOf(self.rank, count()));
    const DeviceArray<int32_t> other(count());
    const int root = self.size - 1;
    int32_t* recv = isInPlace() ? send.get() : other.get();
    REQUIRE(pcclBroadcast(send.get(), recv, count(), pcclInt32, root, self.comm,
                          self.stream) == pcclSuccess);
    self.synchronize();
    EXPECT_EQ((isInPlace() ? send : other).read(), valuesOf(root, count()));
  });
}

TEST_P(CollectiveTest, Reduce) {
  runThreads(ranks(), [&](Rank& self) {
    const DeviceArray<int32_t> send(valuesOf(self.rank, count()));
    const DeviceArray<int32_t> other(count());
    const bool is_root = self.rank == 1;
    int32_t* recv = isInPlace() ? send.get() : other.get();
    REQUIRE(pcclReduce(send.get(), is_root ? recv : nullptr, count(), pcclInt32,
                       pcclSum, 1, self.comm, self.stream) == pcclSuccess);
    self.synchronize();
    if (is_root) {
      EXPECT_EQ((isInPlace() ? send : other).read(), sumOf(self.size, count()));
    } else {
      EXPECT_EQ(send.read(), valuesOf(self.rank, count()));
    }
  });
}

TEST_P(CollectiveTest, ReduceScatter) {
  runThreads(ranks(), [&](Rank& self) {
    const std::size_t total = count() * self.size;
    const DeviceArray<int32_t> send(valuesOf(self.rank, total));
    const DeviceArray<int32_t> other(count());
    int32_t* recv =
        isInPlace() ? send.get() + self.rank * count() : other.get();
    REQUIRE(pcclReduceScatter(send.get(), recv, count(), pcclInt32, pcclSum,
                              self.comm, self.stream) == pcclSuccess);
    self.synchronize();
    const Values got =
        isInPlace() ? part(send.read(), self.rank, self.size) : other.read();
    EXPECT_EQ(got, part(sumOf(self.size, total), self.rank, self.size));
  });
}

TEST_P(CollectiveTest, AllGather) {
  runThreads(ranks(), [&](Rank& self) {
    const std::size_t total = count() * self.size;
    Values initial(total);
    const Values own = valuesOf(self.rank, count());
    std::copy(own.begin(), own.end(), initial.begin() + self.rank * count());
    const DeviceArray<int32_t> recv(isInPlace() ? initial : Values(total));
    const DeviceArray<int32_t> other(own);
    const int32_t* send =
        isInPlace() ? recv.get() + self.rank * count() : other.get();
    REQUIRE(pcclAllGather(send, recv.get(), count(), pcclInt32, self.comm,
                          self.stream) == pcclSuccess);
    self.synchronize();
    Values expected;
    for (int rank = 0; rank < self.size; ++rank) {
      const Values values = valuesOf(rank, count());
      expected.insert(expected.end(), values.begin(), values.end());
    }
    EXPECT_EQ(recv.read(), expected);
  });
}

INSTANTIATE_TEST_SUITE_P(All, CollectiveTest,
                         ::testing::Combine(::testing::Values(2, 3, 4),
                                            ::testing::Values(0, 1, 1000, 30011,
                                                              400003),
                                            ::testing::Bool()));

class RunTest : public ::testing::Test {
 protected:
  void SetUp() override { setSettings(); }
};

TEST_F(RunTest, OneRankIsACopy) {
  runThreads(1, [](Rank& self) {
    const DeviceArray<int32_t> send(valuesOf(0, 100));
    const DeviceArray<int32_t> recv(100);
    REQUIRE(pcclAllReduce(send.get(), recv.get(), 100, pcclInt32, pcclAvg,
                          self.comm, self.stream) == pcclSuccess);
    self.synchronize();
    EXPECT_EQ(recv.read(), valuesOf(0, 100));
  });
}

// All types and reductions travel: the arithmetic is reduce_test's.
TEST_F(RunTest, EveryTypeAndReduction) {
  runThreads(2, [](Rank& self) {
    // Zeros are zeros in every type, and so are all their reductions.
    const DeviceArray<int64_t> data(std::vector<int64_t>(50000));
    for (int dtype = pcclInt8; dtype <= pcclBfloat16; ++dtype) {
      for (int op = pcclSum; op <= pcclAvg; ++op) {
        REQUIRE(pcclAllReduce(data.get(), data.get(), 50000,
                              static_cast<pcclDataType_t>(dtype),
                              static_cast<pcclRedOp_t>(op), self.comm,
                              self.stream) == pcclSuccess);
      }
    }
    self.synchronize();
    EXPECT_EQ(self.asyncError(), pcclSuccess);
    EXPECT_EQ(data.read(), std::vector<int64_t>(50000));
  });
}

// float32 sums depend on the order, which is that of the ranks.
TEST_F(RunTest, SumsAreTheSameOnAllRanksAndEveryTime) {
  constexpr std::size_t kCount = 200001;
  std::mutex mutex;
  std::vector<std::vector<float>> results;
  runThreads(4, [&](Rank& self) {
    std::vector<float> values(kCount);
    for (std::size_t i = 0; i < kCount; ++i) {
      values[i] = 1.0f / static_cast<float>(i * 7 % 1013 + 1 + self.rank);
    }
    const DeviceArray<float> send(values);
    const DeviceArray<float> recv(kCount);
    for (int time = 0; time < 3; ++time) {
      REQUIRE(pcclAllReduce(send.get(), recv.get(), kCount, pcclFloat, pcclSum,
                            self.comm, self.stream) == pcclSuccess);
      self.synchronize();
      const std::lock_guard<std::mutex> lock(mutex);
      results.push_back(recv.read());
    }
  });
  for (const auto& result : results) EXPECT_EQ(result, results[0]);
  const float expected = ((1.0f / 8 + 1.0f / 9) + 1.0f / 10) + 1.0f / 11;
  EXPECT_EQ(results[0][1], expected);
}

// Slots are used again and again, while other ranks still read them.
TEST_F(RunTest, ManyInARow) {
  runThreads(3, [](Rank& self) {
    constexpr std::size_t kCount = 5000;
    const DeviceArray<int32_t> data(Values(kCount, 1));
    int32_t expected = 1;
    for (int i = 0; i < 18; ++i) {
      REQUIRE(pcclAllReduce(data.get(), data.get(), i % 2 == 0 ? kCount : 10,
                            pcclInt32, pcclSum, self.comm,
                            self.stream) == pcclSuccess);
      expected *= i % 2 == 0 ? 3 : 1;
    }
    self.synchronize();
    EXPECT_EQ(data.read().back(), expected);
  });
}

// Another stream's work is ordered by the calls.
TEST_F(RunTest, StreamsOfOneCommunicator) {
  runThreads(2, [](Rank& self) {
    tangStream_t other = nullptr;
    REQUIRE(tangStreamCreateWithFlags(&other, tangStreamNonBlocking) ==
            tangSuccess);
    const DeviceArray<int32_t> a(Values(1000, 1));
    const DeviceArray<int32_t> b(Values(1000, 1));
    for (int i = 0; i < 10; ++i) {
      REQUIRE(pcclAllReduce(a.get(), a.get(), 1000, pcclInt32, pcclSum,
                            self.comm, self.stream) == pcclSuccess);
      REQUIRE(pcclAllReduce(b.get(), b.get(), 1000, pcclInt32, pcclSum,
                            self.comm, other) == pcclSuccess);
    }
    self.synchronize();
    REQUIRE(tangStreamSynchronize(other) == tangSuccess);
    EXPECT_EQ(a.read(), Values(1000, 1024));
    EXPECT_EQ(b.read(), Values(1000, 1024));
    REQUIRE(tangStreamDestroy(other) == tangSuccess);
  });
}

TEST_F(RunTest, AllRanksOfOneThread) {
  pcclComm_t comms[2] = {};
  ASSERT_EQ(pcclCommInitAll(comms, 2, nullptr), pcclSuccess)
      << pcclGetLastError(nullptr);
  const DeviceArray<int32_t> first(Values(10, 1));
  ASSERT_EQ(tangSetDevice(1), tangSuccess);
  const DeviceArray<int32_t> second(Values(10, 2));
  tangStream_t streams[2] = {};
  for (int device = 0; device < 2; ++device) {
    ASSERT_EQ(tangSetDevice(device), tangSuccess);
    ASSERT_EQ(tangStreamCreate(&streams[device]), tangSuccess);
    int value = -1;
    EXPECT_EQ(pcclCommCuDevice(comms[device], &value), pcclSuccess);
    EXPECT_EQ(value, device);
    EXPECT_EQ(pcclCommUserRank(comms[device], &value), pcclSuccess);
    EXPECT_EQ(value, device);
    EXPECT_EQ(pcclCommCount(comms[device], &value), pcclSuccess);
    EXPECT_EQ(value, 2);
  }
  ASSERT_EQ(pcclGroupStart(), pcclSuccess);
  for (int i = 0; i < 2; ++i) {
    int32_t* data = i == 0 ? first.get() : second.get();
    ASSERT_EQ(
        pcclAllReduce(data, data, 10, pcclInt32, pcclSum, comms[i], streams[i]),
        pcclSuccess);
  }
  ASSERT_EQ(pcclGroupEnd(), pcclSuccess);
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(tangStreamSynchronize(streams[i]), tangSuccess);
    ASSERT_EQ(tangStreamDestroy(streams[i]), tangSuccess);
    ASSERT_EQ(pcclCommDestroy(comms[i]), pcclSuccess);
  }
  EXPECT_EQ(first.read(), Values(10, 3));
  EXPECT_EQ(second.read(), Values(10, 3));
  ASSERT_EQ(tangSetDevice(0), tangSuccess);
}

}  // namespace
}  // namespace dipu::pccl::testing
