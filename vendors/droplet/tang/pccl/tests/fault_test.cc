// SPDX-License-Identifier: Apache-2.0
//
// What becomes of wrong calls, aborts and ranks that do not come, with threads
// as ranks. Every rank must be told, and none may hang.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "softdevice/soft_debug.h"
#include "vendors/droplet/tang/pccl/tests/ranks.h"
#include "vendors/droplet/tang/tang_graph.h"

namespace dipu::pccl::testing {
namespace {

using Values = std::vector<int32_t>;

constexpr std::size_t kCount = 100000;

class FaultTest : public ::testing::Test {
 protected:
  void SetUp() override { setSettings(); }
};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// The failure of a device stays until then.
void resetDevice(Rank& self) {
  REQUIRE(pcclCommDestroy(self.comm) == pcclSuccess);
  self.comm = nullptr;
  REQUIRE(tangDeviceReset() == tangSuccess);
  REQUIRE(tangStreamCreate(&self.stream) == tangSuccess);
}

// Ranks 0 and 1 call differently, rank 2 as rank 0; all are told the same.
void expectMismatch(const std::string& first, const std::string& second,
                    const std::function<void(Rank&, int32_t*)>& call,
                    const std::function<void(Rank&, int32_t*)>& other) {
  runThreads(3, [&](Rank& self) {
    const DeviceArray<int32_t> data(Values(3 * kCount, 1));
    // The sequence number is not 1.
    REQUIRE(pcclAllReduce(data.get(), data.get(), 1, pcclInt32, pcclMax,
                          self.comm, self.stream) == pcclSuccess);
    (self.rank == 1 ? other : call)(self, data.get());
    const std::string text = self.awaitFailure();
    EXPECT_EQ(self.asyncError(), pcclInvalidUsage);
    EXPECT_TRUE(contains(text, first)) << text;
    EXPECT_TRUE(contains(text, second)) << text;
    EXPECT_TRUE(contains(text, "rank 1")) << text;
    self.synchronize();
    EXPECT_EQ(data.read(), Values(3 * kCount, 1)) << "nothing was moved";
    // It stays failed, and says why.
    EXPECT_EQ(pcclAllReduce(data.get(), data.get(), 1, pcclInt32, pcclSum,
                            self.comm, self.stream),
              pcclInvalidUsage);
    EXPECT_TRUE(contains(pcclGetLastError(nullptr), first));
  });
}

void allReduce(Rank& self, int32_t* data) {
  REQUIRE(pcclAllReduce(data, data, kCount, pcclInt32, pcclSum, self.comm,
                        self.stream) == pcclSuccess);
}

TEST_F(FaultTest, OtherCount) {
  expectMismatch(
      "AllReduce #2 (100000 x int32, sum)", "AllReduce #2 (99 x int32, sum)",
      allReduce, [](Rank& self, int32_t* data) {
        REQUIRE(pcclAllReduce(data, data, 99, pcclInt32, pcclSum, self.comm,
                              self.stream) == pcclSuccess);
      });
}

TEST_F(FaultTest, OtherType) {
  expectMismatch(
      "AllReduce #2 (100000 x int32, sum)",
      "AllReduce #2 (100000 x float32, sum)", allReduce,
      [](Rank& self, int32_t* data) {
        REQUIRE(pcclAllReduce(data, data, kCount, pcclFloat, pcclSum, self.comm,
                              self.stream) == pcclSuccess);
      });
}

TEST_F(FaultTest, OtherReduction) {
  expectMismatch(
      "AllReduce #2 (100000 x int32, sum)",
      "AllReduce #2 (100000 x int32, max)", allReduce,
      [](Rank& self, int32_t* data) {
        REQUIRE(pcclAllReduce(data, data, kCount, pcclInt32, pcclMax, self.comm,
                              self.stream) == pcclSuccess);
      });
}

TEST_F(FaultTest, OtherOperation) {
  expectMismatch(
      "AllReduce #2 (100000 x int32, sum)", "AllGather #2 (100000 x int32)",
      allReduce, [](Rank& self, int32_t* data) {
        REQUIRE(pcclAllGather(data, data, kCount, pcclInt32, self.comm,
                              self.stream) == pcclSuccess);
      });
}

TEST_F(FaultTest, OtherRoot) {
  const auto from = [](int root) {
    return [root](Rank& self, int32_t* data) {
      REQUIRE(pcclBroadcast(data, data, kCount, pcclInt32, root, self.comm,
                            self.stream) == pcclSuccess);
    };
  };
  expectMismatch("Broadcast #2 (100000 x int32, root 0)",
                 "Broadcast #2 (100000 x int32, root 2)", from(0), from(2));
}

TEST_F(FaultTest, MessagesThatDiffer) {
  runThreads(2, [](Rank& self) {
    const DeviceArray<int32_t> data(Values(kCount, self.rank));
    if (self.rank == 0) {
      REQUIRE(pcclSend(data.get(), kCount, pcclInt32, 1, self.comm,
                       self.stream) == pcclSuccess);
    } else {
      REQUIRE(pcclRecv(data.get(), 7, pcclInt32, 0, self.comm, self.stream) ==
              pcclSuccess);
    }
    const std::string text = self.awaitFailure();
    EXPECT_EQ(self.asyncError(), pcclInvalidUsage);
    EXPECT_TRUE(contains(text, "rank 1 Recv #1 (7 x int32, from rank 0)"))
        << text;
    EXPECT_TRUE(contains(text, "rank 0 Send #1 (100000 x int32, to rank 1)"))
        << text;
    self.synchronize();
    EXPECT_EQ(data.read(), Values(kCount, self.rank));
  });
}

// The call returns long before the other rank comes.
TEST_F(FaultTest, ACallDoesNotWait) {
  runThreads(2, [](Rank& self) {
    const DeviceArray<int32_t> data(Values(kCount, 1));
    const DeviceArray<int32_t> done(Values{0});
    static std::atomic<bool> has_returned{false};
    if (self.rank == 1) {
      while (!has_returned) std::this_thread::yield();
    }
    allReduce(self, data.get());
    if (self.rank == 0) {
      EXPECT_EQ(tangStreamQuery(self.stream), tangErrorNotReady);
      has_returned = true;
    }
    self.synchronize();
    EXPECT_EQ(data.read(), Values(kCount, 2));
  });
}

TEST_F(FaultTest, AbortEndsWhatOthersWaitFor) {
  runThreads(3, [](Rank& self) {
    const DeviceArray<int32_t> data(Values(kCount, 1));
    if (self.rank == 1) {
      REQUIRE(pcclCommAbort(self.comm) == pcclSuccess);
      self.comm = nullptr;
      return;
    }
    REQUIRE(pcclAllReduce(data.get(), data.get(), kCount, pcclInt32, pcclSum,
                          self.comm, self.stream) != pcclInvalidArgument);
    const std::string text = self.awaitFailure();
    EXPECT_EQ(self.asyncError(), pcclRemoteError);
    EXPECT_TRUE(contains(text, "rank 1: it has aborted the communicator"))
        << text;
    self.synchronize();
  });
}

// The rank that waits is the one that aborts, by another thread.
TEST_F(FaultTest, AbortEndsOwnWork) {
  runThreads(2, [](Rank& self) {
    if (self.rank == 1) {
      EXPECT_TRUE(contains(self.awaitFailure(), "AllReduce #1"));
      return;
    }
    const DeviceArray<int32_t> data(Values(kCount, 1));
    allReduce(self, data.get());
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::thread([&] {
      REQUIRE(pcclCommAbort(self.comm) == pcclSuccess);
    }).join();
    self.synchronize();
    EXPECT_EQ(pcclCommDestroy(self.comm), pcclInvalidArgument)
        << "the handle has ended";
    self.comm = nullptr;
  });
}

// After a failure the same threads make another communicator.
TEST_F(FaultTest, AFailureIsOverWithItsCommunicator) {
  for (int time = 0; time < 2; ++time) {
    runThreads(2, [](Rank& self) {
      const DeviceArray<int32_t> data(Values(kCount, 1));
      allReduce(self, data.get());
      self.synchronize();
      EXPECT_EQ(data.read(), Values(kCount, 2));
      if (self.rank == 0) {
        REQUIRE(pcclCommAbort(self.comm) == pcclSuccess);
        self.comm = nullptr;
      } else {
        self.awaitFailure();
      }
    });
  }
}

TEST_F(FaultTest, ARankThatLeaves) {
  runThreads(2, [](Rank& self) {
    if (self.rank == 1) return;
    const DeviceArray<int32_t> data(Values(kCount, 1));
    allReduce(self, data.get());
    const std::string text = self.awaitFailure();
    EXPECT_TRUE(contains(text, "rank 0: AllReduce #1")) << text;
    EXPECT_TRUE(contains(text, "rank 1, which has destroyed")) << text;
    self.synchronize();
  });
}

TEST_F(FaultTest, ARankThatDoesNotCome) {
  setSettings(/*timeout_ms=*/300);
  runThreads(2, [](Rank& self) {
    if (self.rank == 0) {
      const DeviceArray<int32_t> data(Values(kCount, 1));
      allReduce(self, data.get());
      self.synchronize();
    }
    const std::string text = self.awaitFailure();
    EXPECT_EQ(self.asyncError(), pcclRemoteError);
    EXPECT_TRUE(contains(text,
                         "AllReduce #1 (100000 x int32, sum) waits for "
                         "rank 1, which has called nothing yet, for 0.3"))
        << text;
  });
}

TEST_F(FaultTest, AMessageThatDoesNotCome) {
  setSettings(/*timeout_ms=*/300);
  runThreads(2, [](Rank& self) {
    const DeviceArray<int32_t> data(Values(kCount, 1));
    if (self.rank == 0) {
      REQUIRE(pcclRecv(data.get(), 1, pcclInt32, 1, self.comm, self.stream) ==
              pcclSuccess);
    }
    const std::string text = self.awaitFailure();
    EXPECT_TRUE(contains(text, "Recv #1 (1 x int32, from rank 1) waits"))
        << text;
    self.synchronize();
  });
}

// Such a call cannot be part of the collective, and the others are told.
TEST_F(FaultTest, MemoryOfTheHost) {
  runThreads(2, [](Rank& self) {
    Values host(kCount);
    const DeviceArray<int32_t> data(Values(kCount, 1));
    if (self.rank == 0) {
      EXPECT_EQ(pcclAllReduce(host.data(), host.data(), kCount, pcclInt32,
                              pcclSum, self.comm, self.stream),
                pcclUnhandledTangError);
    } else {
      REQUIRE(pcclAllReduce(data.get(), data.get(), kCount, pcclInt32, pcclSum,
                            self.comm, self.stream) != pcclInvalidArgument);
    }
    const std::string text = self.awaitFailure();
    EXPECT_TRUE(contains(text,
                         "rank 0: AllReduce #1 (100000 x int32, sum) was "
                         "not enqueued"))
        << text;
    if (self.rank == 0) {
      EXPECT_EQ(tangStreamSynchronize(self.stream), tangErrorIllegalAddress);
      resetDevice(self);
    }
  });
}

// The collective of one rank never begins.
TEST_F(FaultTest, ADeviceThatFails) {
  runThreads(2, [](Rank& self) {
    const DeviceArray<int32_t> data(Values(kCount, 1));
    if (self.rank == 0) {
      REQUIRE(soft_fault_add("launch=1,kernel=AllReduce,device=0") == SOFT_OK);
    }
    pcclAllReduce(data.get(), data.get(), kCount, pcclInt32, pcclSum, self.comm,
                  self.stream);
    const std::string text = self.awaitFailure();
    EXPECT_TRUE(contains(text, "rank 0: its device has failed")) << text;
    EXPECT_TRUE(contains(text, "AllReduce")) << text;
    if (self.rank == 0) {
      soft_fault_clear();
      resetDevice(self);
    }
  });
  EXPECT_EQ(mappings(), 0) << "what was not run is kept";
}

TEST_F(FaultTest, StreamsThatCannotBeUsed) {
  runThreads(1, [](Rank& self) {
    const DeviceArray<int32_t> data(Values{1});
    const auto call = [&](tangStream_t stream) {
      return pcclAllReduce(data.get(), data.get(), 1, pcclInt32, pcclSum,
                           self.comm, stream);
    };
    REQUIRE(tangStreamBeginCapture(self.stream, tangStreamCaptureModeRelaxed) ==
            tangSuccess);
    EXPECT_EQ(call(self.stream), pcclInvalidUsage);
    tangGraph_t graph = nullptr;
    REQUIRE(tangStreamEndCapture(self.stream, &graph) == tangSuccess);
    REQUIRE(tangGraphDestroy(graph) == tangSuccess);
    tangStream_t other = nullptr;
    REQUIRE(tangSetDevice(1) == tangSuccess);
    REQUIRE(tangStreamCreate(&other) == tangSuccess);
    EXPECT_EQ(call(other), pcclInvalidArgument);
    REQUIRE(tangStreamDestroy(other) == tangSuccess);
    REQUIRE(tangSetDevice(0) == tangSuccess);
    EXPECT_EQ(call(self.stream), pcclSuccess);
    self.synchronize();
  });
}

TEST_F(FaultTest, WrongArguments) {
  pcclUniqueId garbage{};
  pcclComm_t comm = nullptr;
  EXPECT_EQ(pcclCommInitRank(&comm, 1, garbage, 0), pcclInvalidArgument);
  EXPECT_EQ(pcclCommInitRank(&comm, 2, makeId(), 2), pcclInvalidArgument);
  EXPECT_EQ(comm, nullptr);
  setenv("PCCL_TIMEOUT_MS", "1 minute", 1);
  EXPECT_EQ(pcclCommInitRank(&comm, 1, makeId(), 0), pcclInvalidArgument);
  EXPECT_TRUE(contains(pcclGetLastError(nullptr), "PCCL_TIMEOUT_MS=1 minute"));
  setSettings();
  const int devices[] = {0, 7};
  EXPECT_EQ(pcclCommInitAll(&comm, 2, devices), pcclInvalidDeviceIndex);
  runThreads(1, [](Rank& self) {
    const DeviceArray<int32_t> data(Values{1});
    const auto call = [&](int dtype, int op, void* recv, pcclComm_t on) {
      return pcclAllReduce(data.get(), recv, 1,
                           static_cast<pcclDataType_t>(dtype),
                           static_cast<pcclRedOp_t>(op), on, self.stream);
    };
    int local = 0;
    EXPECT_EQ(call(9, pcclSum, data.get(), self.comm), pcclInvalidArgument);
    EXPECT_EQ(call(pcclInt32, 5, data.get(), self.comm), pcclInvalidArgument);
    EXPECT_EQ(call(pcclInt32, 0, nullptr, self.comm), pcclInvalidArgument);
    EXPECT_EQ(
        call(pcclInt32, 0, data.get(), reinterpret_cast<pcclComm_t>(&local)),
        pcclInvalidArgument);
    EXPECT_EQ(pcclBroadcast(data.get(), data.get(), 1, pcclInt32, 1, self.comm,
                            self.stream),
              pcclInvalidArgument);
    EXPECT_EQ(self.asyncError(), pcclSuccess);
  });
}

}  // namespace
}  // namespace dipu::pccl::testing
