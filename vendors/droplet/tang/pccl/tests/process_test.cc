// SPDX-License-Identifier: Apache-2.0
//
// Processes as ranks: they share nothing but the id, and they may die.
#include <dirent.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "vendors/droplet/tang/pccl/tests/ranks.h"

namespace dipu::pccl::testing {
namespace {

using Values = std::vector<int32_t>;
constexpr std::size_t kCount = 400003;

class ProcessTest : public ::testing::Test {
 protected:
  void SetUp() override { setSettings(); }
};

std::set<std::string> entriesOf(const char* folder) {
  std::set<std::string> names;
  DIR* const directory = opendir(folder);
  if (directory == nullptr) return names;
  while (const dirent* entry = readdir(directory)) names.insert(entry->d_name);
  closedir(directory);
  return names;
}

std::size_t openFiles() { return entriesOf("/proc/self/fd").size(); }

void allReduce(const Rank& self, int32_t* data) {
  REQUIRE(pcclAllReduce(data, data, kCount, pcclInt32, pcclSum, self.comm,
                        self.stream) == pcclSuccess);
}

void expectSum(const Rank& self) {
  const DeviceArray<int32_t> data(Values(kCount, self.rank + 1));
  allReduce(self, data.get());
  self.synchronize();
  const Values values = data.read();
  REQUIRE(values == Values(kCount, self.size * (self.size + 1) / 2));
}

bool contains(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return true;
  std::fprintf(stderr, "no \"%s\" in: %s\n", part.c_str(), text.c_str());
  return false;
}

TEST_F(ProcessTest, TwoProcesses) { runProcesses(2, expectSum); }
TEST_F(ProcessTest, FourProcesses) { runProcesses(4, expectSum); }

// The memory has no name at any time, and nothing stays open.
TEST_F(ProcessTest, NothingIsLeft) {
  const auto before = entriesOf("/dev/shm");
  runProcesses(2, [](Rank& self) {
    expectSum(self);
    REQUIRE(mappings() == 1);
    REQUIRE(pcclCommDestroy(self.comm) == pcclSuccess);
    REQUIRE(mappings() == 0);
    self.comm = nullptr;
  });
  EXPECT_EQ(entriesOf("/dev/shm"), before);
  // The descriptor of an id ends when its ranks have joined.
  EXPECT_EQ(waitFor(startProcess([] {
              // The device, whose descriptors stay, is used before the count.
              runThreads(2, [](Rank& self) { expectSum(self); });
              const std::size_t files = openFiles();
              for (int i = 0; i < 5; ++i) {
                runThreads(2, [](Rank& self) { expectSum(self); });
              }
              REQUIRE(openFiles() == files);
              REQUIRE(mappings() == 0);
            })),
            0);
}

// It dies within a collective that the others wait for.
TEST_F(ProcessTest, AKilledRank) {
  const auto children = startProcesses(3, makeId(), [](Rank& self) {
    expectSum(self);
    if (self.rank == 1) raise(SIGKILL);
    const auto start = std::chrono::steady_clock::now();
    const DeviceArray<int32_t> data(Values(kCount, 1));
    REQUIRE(pcclAllReduce(data.get(), data.get(), kCount, pcclInt32, pcclSum,
                          self.comm, self.stream) != pcclInvalidArgument);
    const std::string text = self.awaitFailure();
    REQUIRE(contains(text,
                     "AllReduce #2 (400003 x int32, sum) waits for rank "
                     "1, which has died"));
    REQUIRE(contains(text, "whose last operation is AllReduce #1"));
    REQUIRE(self.asyncError() == pcclRemoteError);
    self.synchronize();
    // Noticed, and not waited out.
    REQUIRE(std::chrono::steady_clock::now() - start <
            std::chrono::seconds(10));
  });
  EXPECT_EQ(waitFor(children[0]), 0);
  EXPECT_EQ(WTERMSIG(waitFor(children[1])), SIGKILL);
  EXPECT_EQ(waitFor(children[2]), 0);
}

TEST_F(ProcessTest, AKilledSender) {
  const auto children = startProcesses(2, makeId(), [](Rank& self) {
    if (self.rank == 1) raise(SIGKILL);
    const DeviceArray<int32_t> data(Values(kCount, 1));
    REQUIRE(pcclRecv(data.get(), kCount, pcclInt32, 1, self.comm,
                     self.stream) == pcclSuccess);
    REQUIRE(contains(self.awaitFailure(),
                     "Recv #1 (400003 x int32, from rank "
                     "1) waits for rank 1, which has died"));
    self.synchronize();
  });
  EXPECT_EQ(waitFor(children[0]), 0);
  EXPECT_EQ(WTERMSIG(waitFor(children[1])), SIGKILL);
}

// It does not hang in exit(), although its own work waits. It has given its
// part, but the rank for which all wait will miss it.
TEST_F(ProcessTest, ARankThatExitsWithWork) {
  const auto children = startProcesses(3, makeId(), [](Rank& self) {
    const DeviceArray<int32_t> data(Values(kCount, 1));
    if (self.rank != 2) allReduce(self, data.get());
    if (self.rank == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      std::exit(0);
    }
    REQUIRE(
        contains(self.awaitFailure(),
                 "rank 0: AllReduce #1 (400003 x int32, sum) waits for rank "
                 "1, which has died"));
    self.synchronize();
  });
  for (const pid_t child : children) EXPECT_EQ(waitFor(child), 0);
}

TEST_F(ProcessTest, AStoppedRank) {
  setSettings(/*timeout_ms=*/500);
  const auto children = startProcesses(2, makeId(), [](Rank& self) {
    expectSum(self);
    if (self.rank == 1) raise(SIGSTOP);
    const DeviceArray<int32_t> data(Values(kCount, 1));
    pcclAllReduce(data.get(), data.get(), kCount, pcclInt32, pcclSum, self.comm,
                  self.stream);
    const std::string text = self.awaitFailure();
    REQUIRE(contains(text,
                     "rank 0: AllReduce #2 (400003 x int32, sum) waits "
                     "for rank 1, whose last operation is AllReduce #1"));
    self.synchronize();
  });
  EXPECT_EQ(waitFor(children[0]), 0);
  // When it goes on it is told as well.
  kill(children[1], SIGCONT);
  EXPECT_EQ(waitFor(children[1]), 0);
}

// Joins only when the other one has waited for a while.
TEST_F(ProcessTest, ALateRank) {
  const pcclUniqueId id = makeId();
  const pid_t first = startProcess([&] { runRank(0, 2, id, expectSum); });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const pid_t second = startProcess([&] { runRank(1, 2, id, expectSum); });
  EXPECT_EQ(waitFor(first), 0);
  EXPECT_EQ(waitFor(second), 0);
}

TEST_F(ProcessTest, ARankThatNeverJoins) {
  setSettings(/*timeout_ms=*/300);
  const pcclUniqueId id = makeId();
  const auto join = [&](int rank, int size, const char* complaint) {
    pcclComm_t comm = nullptr;
    REQUIRE(pcclCommInitRank(&comm, size, id, rank) != pcclSuccess);
    REQUIRE(comm == nullptr);
    REQUIRE(contains(pcclGetLastError(nullptr), complaint));
  };
  EXPECT_EQ(waitFor(startProcess([&] {
              join(0, 3, "pcclCommInitRank waits for rank 1, rank 2 for 0.3 s");
            })),
            0);
  // Who comes later is told at once.
  EXPECT_EQ(waitFor(startProcess(
                [&] { join(1, 3, "waits for rank 1, rank 2 for 0.3 s"); })),
            0);
  EXPECT_EQ(waitFor(startProcess([&] { join(0, 3, "rank 0 has been taken"); })),
            0);
  EXPECT_EQ(waitFor(startProcess([&] { join(1, 2, "of 2 ranks, another"); })),
            0);
}

TEST_F(ProcessTest, ARankThatDiesWhileOthersJoin) {
  const pcclUniqueId id = makeId();
  const pid_t first = startProcess([&] {
    std::thread([] {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      raise(SIGKILL);
    }).detach();
    pcclComm_t comm = nullptr;
    pcclCommInitRank(&comm, 3, id, 1);
  });
  const pid_t second = startProcess([&] {
    pcclComm_t comm = nullptr;
    REQUIRE(pcclCommInitRank(&comm, 3, id, 0) == pcclRemoteError);
    REQUIRE(contains(pcclGetLastError(nullptr), "rank 1, which has died"));
  });
  EXPECT_EQ(WTERMSIG(waitFor(first)), SIGKILL);
  EXPECT_EQ(waitFor(second), 0);
}

TEST_F(ProcessTest, AForkedChildCannotUseItsParentsCommunicator) {
  runProcesses(2, [](Rank& self) {
    expectSum(self);
    const pid_t child = startProcess([&] {
      pcclResult_t result = pcclSuccess;
      REQUIRE(pcclCommGetAsyncError(self.comm, &result) != pcclSuccess);
      REQUIRE(contains(pcclGetLastError(nullptr), "forked"));
      REQUIRE(pcclCommDestroy(self.comm) != pcclSuccess);
      _exit(0);
    });
    REQUIRE(waitFor(child) == 0);
    expectSum(self);
  });
}

}  // namespace
}  // namespace dipu::pccl::testing
