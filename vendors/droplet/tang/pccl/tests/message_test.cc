// SPDX-License-Identifier: Apache-2.0
//
// Sends, receives and groups, with threads as ranks.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "vendors/droplet/tang/pccl/tests/ranks.h"

namespace dipu::pccl::testing {
namespace {

using Values = std::vector<int32_t>;

class MessageTest : public ::testing::Test {
 protected:
  void SetUp() override { setSettings(); }
};

// Far more than a channel holds.
constexpr std::size_t kLong = 300007;

Values valuesOf(int from, int to, std::size_t count) {
  Values values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = static_cast<int32_t>(i * 100 + from * 10 + to);
  }
  return values;
}

void allToAll(int ranks, std::size_t count) {
  runThreads(ranks, [&](Rank& self) {
    Values initial;
    Values expected;
    for (int peer = 0; peer < self.size; ++peer) {
      const Values out = valuesOf(self.rank, peer, count);
      const Values in = valuesOf(peer, self.rank, count);
      initial.insert(initial.end(), out.begin(), out.end());
      expected.insert(expected.end(), in.begin(), in.end());
    }
    const DeviceArray<int32_t> send(initial);
    const DeviceArray<int32_t> recv(initial.size());
    REQUIRE(pcclGroupStart() == pcclSuccess);
    // All sends first: only together with the receives do they come to an end.
    for (int peer = 0; peer < self.size; ++peer) {
      REQUIRE(pcclSend(send.get() + peer * count, count, pcclInt32, peer,
                       self.comm, self.stream) == pcclSuccess);
    }
    for (int peer = 0; peer < self.size; ++peer) {
      REQUIRE(pcclRecv(recv.get() + peer * count, count, pcclInt32, peer,
                       self.comm, self.stream) == pcclSuccess);
    }
    REQUIRE(pcclGroupEnd() == pcclSuccess);
    self.synchronize();
    EXPECT_EQ(self.asyncError(), pcclSuccess) << pcclGetLastError(self.comm);
    EXPECT_EQ(recv.read(), expected);
  });
}

TEST_F(MessageTest, AllToAllOfTwo) { allToAll(2, kLong); }
TEST_F(MessageTest, AllToAllOfFour) { allToAll(4, kLong / 4); }
TEST_F(MessageTest, AllToAllOfNothing) { allToAll(2, 0); }

TEST_F(MessageTest, OutsideOfGroups) {
  runThreads(2, [](Rank& self) {
    const DeviceArray<int32_t> data(valuesOf(self.rank, 1, kLong));
    if (self.rank == 0) {
      REQUIRE(pcclSend(data.get(), kLong, pcclInt32, 1, self.comm,
                       self.stream) == pcclSuccess);
    } else {
      REQUIRE(pcclRecv(data.get(), kLong, pcclInt32, 0, self.comm,
                       self.stream) == pcclSuccess);
    }
    self.synchronize();
    EXPECT_EQ(data.read(), valuesOf(0, 1, kLong));
  });
}

// Messages of one pair arrive in the order in which they were sent, whatever
// their sizes, and mix with collectives.
TEST_F(MessageTest, OrderOfMessages) {
  runThreads(2, [](Rank& self) {
    const std::vector<std::size_t> counts = {5, 0, kLong, 1, 70000};
    const DeviceArray<int32_t> sum(Values{1});
    std::vector<std::unique_ptr<DeviceArray<int32_t>>> arrays;
    REQUIRE(pcclGroupStart() == pcclSuccess);
    for (std::size_t i = 0; i < counts.size(); ++i) {
      arrays.push_back(std::make_unique<DeviceArray<int32_t>>(
          valuesOf(self.rank, static_cast<int>(i), counts[i])));
      int32_t* data = arrays.back()->get();
      REQUIRE(
          (self.rank == 0
               ? pcclSend(data, counts[i], pcclInt32, 1, self.comm, self.stream)
               : pcclRecv(data, counts[i], pcclInt32, 0, self.comm,
                          self.stream)) == pcclSuccess);
    }
    REQUIRE(pcclAllReduce(sum.get(), sum.get(), 1, pcclInt32, pcclSum,
                          self.comm, self.stream) == pcclSuccess);
    REQUIRE(pcclGroupEnd() == pcclSuccess);
    self.synchronize();
    for (std::size_t i = 0; i < counts.size(); ++i) {
      EXPECT_EQ(arrays[i]->read(), valuesOf(0, static_cast<int>(i), counts[i]));
    }
    EXPECT_EQ(sum.read(), Values{2});
  });
}

// Often enough for messages to overtake, if they could.
TEST_F(MessageTest, LongMessagesDoNotMix) {
  runThreads(2, [](Rank& self) {
    const Values values[] = {valuesOf(0, 1, kLong), valuesOf(0, 2, kLong)};
    const DeviceArray<int32_t> first(values[0]);
    const DeviceArray<int32_t> second(values[1]);
    const auto call = [&](int32_t* data) {
      return self.rank == 0
                 ? pcclSend(data, kLong, pcclInt32, 1, self.comm, self.stream)
                 : pcclRecv(data, kLong, pcclInt32, 0, self.comm, self.stream);
    };
    for (int i = 0; i < 30; ++i) {
      for (const auto* array : {&first, &second}) {
        if (self.rank == 0) break;
        REQUIRE(tangMemsetAsync(array->get(), 0, kLong * sizeof(int32_t),
                                self.stream) == tangSuccess);
      }
      REQUIRE(pcclGroupStart() == pcclSuccess);
      REQUIRE(call(first.get()) == pcclSuccess);
      REQUIRE(call(second.get()) == pcclSuccess);
      REQUIRE(pcclGroupEnd() == pcclSuccess);
      self.synchronize();
      REQUIRE(self.asyncError() == pcclSuccess);
      REQUIRE(first.read() == values[0] && second.read() == values[1]);
    }
  });
}

void waitUntilSet(void* flag) {
  while (!*static_cast<std::atomic<bool>*>(flag)) std::this_thread::yield();
}

// Sends on one stream and receives on another are one piece of work: it comes
// after what both streams had, and before what they get later.
TEST_F(MessageTest, AGroupOfTwoStreams) {
  runThreads(2, [](Rank& self) {
    constexpr std::size_t kBytes = kLong * sizeof(int32_t);
    tangStream_t other = nullptr;
    REQUIRE(tangStreamCreateWithFlags(&other, tangStreamNonBlocking) ==
            tangSuccess);
    const int peer = 1 - self.rank;
    const DeviceArray<int32_t> source(valuesOf(self.rank, 0, kLong));
    const DeviceArray<int32_t> send(kLong);
    const DeviceArray<int32_t> recv(kLong);
    std::atomic<bool> may_copy{false};
    REQUIRE(tangLaunchHostFunc(self.stream, waitUntilSet, &may_copy) ==
            tangSuccess);
    REQUIRE(tangMemcpyAsync(send.get(), source.get(), kBytes,
                            tangMemcpyDeviceToDevice,
                            self.stream) == tangSuccess);
    REQUIRE(pcclGroupStart() == pcclSuccess);
    REQUIRE(pcclRecv(recv.get(), kLong, pcclInt32, peer, self.comm, other) ==
            pcclSuccess);
    REQUIRE(pcclSend(send.get(), kLong, pcclInt32, peer, self.comm,
                     self.stream) == pcclSuccess);
    REQUIRE(pcclGroupEnd() == pcclSuccess);
    REQUIRE(tangMemsetAsync(send.get(), 0, kBytes, self.stream) == tangSuccess);
    // Long enough for work that does not wait, and for one rank to be first.
    std::this_thread::sleep_for(std::chrono::milliseconds(20 + 50 * self.rank));
    may_copy = true;
    REQUIRE(tangStreamSynchronize(other) == tangSuccess);
    self.synchronize();
    EXPECT_EQ(recv.read(), valuesOf(peer, 0, kLong));
    EXPECT_EQ(send.read(), Values(kLong, 0));
    REQUIRE(tangStreamDestroy(other) == tangSuccess);
  });
}

// What it has sent is there.
TEST_F(MessageTest, ASenderThatHasLeft) {
  std::atomic<bool> has_left{false};
  runThreads(2, [&](Rank& self) {
    const DeviceArray<int32_t> data(valuesOf(self.rank, 1, 100));
    if (self.rank == 0) {
      REQUIRE(pcclSend(data.get(), 100, pcclInt32, 1, self.comm, self.stream) ==
              pcclSuccess);
      self.synchronize();
      REQUIRE(pcclCommDestroy(self.comm) == pcclSuccess);
      self.comm = nullptr;
      has_left = true;
      return;
    }
    while (!has_left) std::this_thread::yield();
    REQUIRE(pcclRecv(data.get(), 100, pcclInt32, 0, self.comm, self.stream) ==
            pcclSuccess);
    self.synchronize();
    EXPECT_EQ(self.asyncError(), pcclSuccess) << pcclGetLastError(self.comm);
    EXPECT_EQ(data.read(), valuesOf(0, 1, 100));
  });
}

TEST_F(MessageTest, NothingHappensBeforeTheOutermostEnd) {
  runThreads(1, [](Rank& self) {
    const DeviceArray<int32_t> send(Values{7});
    const DeviceArray<int32_t> recv(Values{1});
    REQUIRE(pcclGroupStart() == pcclSuccess);
    REQUIRE(pcclGroupStart() == pcclSuccess);
    REQUIRE(pcclAllReduce(send.get(), recv.get(), 1, pcclInt32, pcclSum,
                          self.comm, self.stream) == pcclSuccess);
    REQUIRE(pcclGroupEnd() == pcclSuccess);
    self.synchronize();
    EXPECT_EQ(recv.read(), Values{1});
    REQUIRE(pcclGroupEnd() == pcclSuccess);
    self.synchronize();
    EXPECT_EQ(recv.read(), Values{7});
    EXPECT_EQ(pcclGroupEnd(), pcclInvalidUsage);
  });
}

TEST_F(MessageTest, AWrongCallSpoilsItsGroup) {
  runThreads(1, [](Rank& self) {
    const DeviceArray<int32_t> send(Values{7});
    const DeviceArray<int32_t> recv(Values{1});
    REQUIRE(pcclGroupStart() == pcclSuccess);
    REQUIRE(pcclAllReduce(send.get(), recv.get(), 1, pcclInt32, pcclSum,
                          self.comm, self.stream) == pcclSuccess);
    EXPECT_EQ(pcclSend(send.get(), 1, pcclInt32, 5, self.comm, self.stream),
              pcclInvalidArgument);
    EXPECT_EQ(pcclGroupEnd(), pcclInvalidArgument);
    EXPECT_NE(std::string(pcclGetLastError(nullptr)).find("rank 5 of 1"),
              std::string::npos);
    self.synchronize();
    EXPECT_EQ(recv.read(), Values{1});
    // The communicator is as it was.
    REQUIRE(pcclAllReduce(send.get(), recv.get(), 1, pcclInt32, pcclSum,
                          self.comm, self.stream) == pcclSuccess);
    self.synchronize();
    EXPECT_EQ(recv.read(), Values{7});
  });
}

}  // namespace
}  // namespace dipu::pccl::testing
