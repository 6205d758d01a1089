// SPDX-License-Identifier: Apache-2.0
//
// Ranks as threads or as forked processes, and arrays on their devices.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "vendors/droplet/tang/pccl/pccl.h"

namespace dipu::pccl::testing {

// Communicators whose memory this process has mapped.
inline int mappings() {
  std::FILE* const file = std::fopen("/proc/self/maps", "r");
  char line[512];
  int count = 0;
  while (std::fgets(line, sizeof(line), file) != nullptr) {
    if (std::strstr(line, "memfd:pccl") != nullptr) ++count;
  }
  std::fclose(file);
  return count;
}

// In a thread or a process without assertions: ends the process.
inline void require(bool condition, const char* text, int line) {
  if (condition) return;
  std::fprintf(stderr, "line %d: %s: %s\n", line, text,
               pcclGetLastError(nullptr));
  _exit(3);
}
#define REQUIRE(condition) \
  ::dipu::pccl::testing::require(bool(condition), #condition, __LINE__)

// Both ranks of two share the two devices.
inline void setSettings(int timeout_ms = 20000) {
  setenv("SOFTDEVICE_COUNT", "2", 1);
  setenv("SOFTDEVICE_MEMORY", "512M", 1);
  setenv("PCCL_TIMEOUT_MS", std::to_string(timeout_ms).c_str(), 1);
}

struct Rank {
  int rank = 0;
  int size = 0;
  pcclComm_t comm = nullptr;
  tangStream_t stream = nullptr;

  void synchronize() const {
    REQUIRE(tangStreamSynchronize(stream) == tangSuccess);
  }
  pcclResult_t asyncError() const {
    pcclResult_t result = pcclSuccess;
    REQUIRE(pcclCommGetAsyncError(comm, &result) == pcclSuccess);
    return result;
  }
  // The failure, when it has come.
  std::string awaitFailure() const {
    const auto start = std::chrono::steady_clock::now();
    while (asyncError() == pcclSuccess) {
      REQUIRE(std::chrono::steady_clock::now() - start <
              std::chrono::seconds(30));
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return pcclGetLastError(comm);
  }
};

template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(const std::vector<T>& values) : size_(values.size()) {
    REQUIRE(tangMalloc(reinterpret_cast<void**>(&data_), size_ * sizeof(T)) ==
            tangSuccess);
    if (size_ == 0) return;
    REQUIRE(tangMemcpy(data_, values.data(), size_ * sizeof(T),
                       tangMemcpyHostToDevice) == tangSuccess);
  }
  explicit DeviceArray(std::size_t size) : DeviceArray(std::vector<T>(size)) {}
  ~DeviceArray() { tangFree(data_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* get() const { return data_; }
  std::vector<T> read() const {
    std::vector<T> values(size_);
    if (size_ == 0) return values;
    REQUIRE(tangMemcpy(values.data(), data_, size_ * sizeof(T),
                       tangMemcpyDeviceToHost) == tangSuccess);
    return values;
  }

 private:
  T* data_ = nullptr;
  std::size_t size_;
};

// What a rank does between making its communicator and ending it.
using Body = std::function<void(Rank&)>;

inline void runRank(int rank, int size, const pcclUniqueId& id,
                    const Body& body) {
  Rank self{rank, size};
  REQUIRE(tangSetDevice(rank % 2) == tangSuccess);
  REQUIRE(tangStreamCreateWithFlags(&self.stream, tangStreamNonBlocking) ==
          tangSuccess);
  REQUIRE(pcclCommInitRank(&self.comm, size, id, rank) == pcclSuccess);
  body(self);
  if (self.comm != nullptr) REQUIRE(pcclCommDestroy(self.comm) == pcclSuccess);
  REQUIRE(tangStreamSynchronize(self.stream) == tangSuccess);
  REQUIRE(tangStreamDestroy(self.stream) == tangSuccess);
}

inline pcclUniqueId makeId() {
  pcclUniqueId id;
  REQUIRE(pcclGetUniqueId(&id) == pcclSuccess);
  return id;
}

inline void runThreads(int size, const Body& body) {
  const pcclUniqueId id = makeId();
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] { runRank(rank, size, id, body); });
  }
  for (std::thread& thread : threads) thread.join();
}

constexpr unsigned kChildSeconds = 60;

// Forks a child that runs `body`; this process must not have used a device.
inline pid_t startProcess(const std::function<void()>& body) {
  const pid_t child = fork();
  if (child != 0) return child;
  alarm(kChildSeconds);
  body();
  std::exit(0);
}

// 0 when the child has ended well, else its status as waitpid tells it.
inline int waitFor(pid_t child) {
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

inline std::vector<pid_t> startProcesses(int size, const pcclUniqueId& id,
                                         const Body& body) {
  std::vector<pid_t> children;
  for (int rank = 0; rank < size; ++rank) {
    children.push_back(
        startProcess([&, rank] { runRank(rank, size, id, body); }));
  }
  return children;
}

inline void runProcesses(int size, const Body& body) {
  for (const pid_t child : startProcesses(size, makeId(), body)) {
    EXPECT_EQ(waitFor(child), 0);
  }
}

}  // namespace dipu::pccl::testing
