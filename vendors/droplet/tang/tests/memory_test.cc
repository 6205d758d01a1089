// SPDX-License-Identifier: Apache-2.0
//
// Memory in the order of a stream, and copies of rows.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <numeric>
#include <thread>
#include <vector>

#include "vendors/droplet/tang/tang_runtime.h"

namespace {

constexpr size_t kMiB = size_t{1} << 20;

#define ASSERT_TANG(expected, call) \
  ASSERT_EQ(expected, call) << tangGetErrorString(tangPeekAtLastError())

class MemoryTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    setenv("SOFTDEVICE_COUNT", "2", 1);
    setenv("SOFTDEVICE_MEMORY", "64M", 1);
  }
  void SetUp() override {
    for (tangStream_t* stream : {&stream_, &other_}) {
      ASSERT_TANG(tangSuccess,
                  tangStreamCreateWithFlags(stream, tangStreamNonBlocking));
    }
  }
  void TearDown() override {
    EXPECT_EQ(tangDeviceReset(), tangSuccess);
    tangGetLastError();
  }

  // Keeps stream_ busy until open().
  void close() {
    gate_ = false;
    ASSERT_TANG(tangSuccess,
                tangLaunchHostFunc(
                    stream_,
                    [](void* gate) {
                      while (!*static_cast<std::atomic<bool>*>(gate)) {
                        std::this_thread::yield();
                      }
                    },
                    &gate_));
  }
  void open() { gate_ = true; }

  tangStream_t stream_ = nullptr;
  tangStream_t other_ = nullptr;
  std::atomic<bool> gate_{true};
};

TEST_F(MemoryTest, FreedMemoryServesItsStreamAtOnce) {
  void* first = nullptr;
  ASSERT_TANG(tangSuccess, tangMallocAsync(&first, kMiB, stream_));
  close();
  ASSERT_TANG(tangSuccess, tangFreeAsync(first, stream_));
  void* elsewhere = nullptr;
  ASSERT_TANG(tangSuccess, tangMallocAsync(&elsewhere, kMiB, other_));
  EXPECT_NE(elsewhere, first) << "the stream that freed it may still use it";
  void* again = nullptr;
  ASSERT_TANG(tangSuccess, tangMallocAsync(&again, kMiB, stream_));
  EXPECT_EQ(again, first) << "without waiting";
  open();
  ASSERT_TANG(tangSuccess, tangFreeAsync(again, stream_));
  ASSERT_TANG(tangSuccess, tangStreamSynchronize(stream_));
  void* taken = nullptr;
  ASSERT_TANG(tangSuccess, tangMallocAsync(&taken, kMiB, other_));
  EXPECT_EQ(taken, first) << "now that all work is done";
  EXPECT_EQ(tangFree(taken), tangSuccess);
  EXPECT_EQ(tangFree(elsewhere), tangSuccess);
}

TEST_F(MemoryTest, KeptMemoryOutlivesWhatATaskIsRefused) {
  void* first = nullptr;
  ASSERT_TANG(tangSuccess, tangMallocAsync(&first, kMiB, stream_));
  ASSERT_TANG(tangSuccess, tangFreeAsync(first, stream_));
  static tangError_t refused[2];
  const auto task = [](void*) {
    void* data = nullptr;
    refused[0] = tangDeviceReset();
    refused[1] = tangMalloc(&data, 64 * kMiB);
  };
  ASSERT_TANG(tangSuccess, tangLaunchHostFunc(stream_, task, nullptr));
  ASSERT_TANG(tangSuccess, tangStreamSynchronize(stream_));
  EXPECT_EQ(refused[0], tangErrorIllegalState);
  EXPECT_NE(refused[1], tangSuccess) << "it would have to wait";
  void* again = nullptr;
  ASSERT_TANG(tangSuccess, tangMallocAsync(&again, kMiB, stream_));
  EXPECT_EQ(again, first);
}

TEST_F(MemoryTest, KeptMemoryIsFoundDuringCaptures) {
  void* first = nullptr;
  ASSERT_TANG(tangSuccess, tangMallocAsync(&first, kMiB, stream_));
  ASSERT_TANG(tangSuccess, tangFreeAsync(first, stream_));
  ASSERT_TANG(tangSuccess, tangStreamSynchronize(stream_));
  ASSERT_TANG(tangSuccess,
              tangStreamBeginCapture(stream_, tangStreamCaptureModeGlobal));
  void* taken = nullptr;
  ASSERT_TANG(tangSuccess, tangMallocAsync(&taken, kMiB, other_));
  EXPECT_EQ(taken, first);
  tangGraph_t graph = nullptr;
  ASSERT_TANG(tangSuccess, tangStreamEndCapture(stream_, &graph));
  EXPECT_EQ(tangGraphDestroy(graph), tangSuccess);
  EXPECT_EQ(tangFree(taken), tangSuccess);
}

TEST_F(MemoryTest, KeptMemoryGoesBackWhenItIsNeeded) {
  void* ptr = nullptr;
  size_t free_before = 0;
  size_t free_after = 0;
  size_t total = 0;
  ASSERT_TANG(tangSuccess, tangMemGetInfo(&free_before, &total));
  ASSERT_TANG(tangSuccess, tangMallocAsync(&ptr, 40 * kMiB, stream_));
  ASSERT_TANG(tangSuccess, tangFreeAsync(ptr, stream_));
  ASSERT_TANG(tangSuccess, tangDeviceSynchronize());
  ASSERT_TANG(tangSuccess, tangMemGetInfo(&free_after, &total));
  EXPECT_EQ(free_after, free_before);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TANG(tangSuccess, tangMallocAsync(&ptr, 40 * kMiB, stream_));
    ASSERT_TANG(tangSuccess, tangFreeAsync(ptr, stream_));
    // Does not fit beside it, and is too large to take its place.
    ASSERT_TANG(tangSuccess, tangMalloc(&ptr, 60 * kMiB));
    ASSERT_TANG(tangSuccess, tangFree(ptr));
  }
}

TEST_F(MemoryTest, WrongFreesAreRefused) {
  void* ptr = nullptr;
  ASSERT_TANG(tangSuccess, tangMallocAsync(&ptr, 0, stream_));
  EXPECT_EQ(ptr, nullptr);
  EXPECT_EQ(tangFreeAsync(nullptr, stream_), tangSuccess);
  ASSERT_TANG(tangSuccess, tangMalloc(&ptr, kMiB));
  EXPECT_EQ(tangFreeAsync(static_cast<char*>(ptr) + 512, stream_),
            tangErrorInvalidDevicePointer);
  int local = 0;
  EXPECT_EQ(tangFreeAsync(&local, stream_), tangErrorInvalidDevicePointer);
  ASSERT_TANG(tangSuccess, tangSetDevice(1));
  EXPECT_EQ(tangFreeAsync(ptr, nullptr), tangErrorInvalidValue);
  ASSERT_TANG(tangSuccess, tangSetDevice(0));
  ASSERT_TANG(tangSuccess, tangFreeAsync(ptr, stream_));
  EXPECT_EQ(tangFreeAsync(ptr, stream_), tangErrorInvalidDevicePointer);
  EXPECT_EQ(tangFree(ptr), tangErrorInvalidDevicePointer);
  ASSERT_TANG(tangSuccess, tangDeviceReset());
  void* fresh = nullptr;
  ASSERT_TANG(tangSuccess, tangMalloc(&fresh, kMiB));
  EXPECT_EQ(tangFree(fresh), tangSuccess) << "the reset has forgotten it";
}

// What two processes do is in the conformance tests.
TEST_F(MemoryTest, SharingBetweenProcesses) {
  void* ptr = nullptr;
  ASSERT_TANG(tangSuccess, tangMallocAsync(&ptr, kMiB, stream_));
  tangIpcMemHandle_t handle;
  ASSERT_TANG(tangSuccess, tangIpcGetMemHandle(&handle, ptr));
  EXPECT_EQ(tangIpcGetMemHandle(&handle, static_cast<char*>(ptr) + 512),
            tangErrorInvalidDevicePointer);
  EXPECT_EQ(tangIpcCloseMemHandle(ptr), tangErrorInvalidDevicePointer);
  void* opened = nullptr;
  EXPECT_EQ(tangIpcOpenMemHandle(&opened, handle, 0), tangErrorIllegalState)
      << "by the process that made it";
  EXPECT_EQ(tangIpcOpenMemHandle(&opened, handle, 2), tangErrorInvalidValue);
  handle = {};
  EXPECT_EQ(tangIpcOpenMemHandle(&opened, handle, 0),
            tangErrorInvalidResourceHandle);
  ASSERT_TANG(tangSuccess, tangFreeAsync(ptr, stream_));
  EXPECT_EQ(tangIpcGetMemHandle(&handle, ptr), tangErrorInvalidDevicePointer);
}

TEST_F(MemoryTest, EventsAreNotShared) {
  tangIpcEventHandle_t handle{};
  tangEvent_t event = nullptr;
  EXPECT_EQ(tangEventCreateWithFlags(&event, tangEventInterprocess),
            tangErrorNotSupported);
  ASSERT_TANG(tangSuccess, tangEventCreate(&event));
  EXPECT_EQ(tangIpcGetEventHandle(&handle, event), tangErrorNotSupported);
  EXPECT_EQ(tangIpcOpenEventHandle(&event, handle), tangErrorNotSupported);
  EXPECT_EQ(tangEventDestroy(event), tangSuccess);
}

TEST_F(MemoryTest, CopiesOfRows) {
  constexpr size_t kWidth = 10;
  constexpr size_t kRows = 4;
  std::vector<char> host(16 * kRows);
  std::iota(host.begin(), host.end(), '\1');
  void* ptr = nullptr;
  ASSERT_TANG(tangSuccess, tangMalloc(&ptr, 32 * kRows));
  ASSERT_TANG(tangSuccess, tangMemset(ptr, 0, 32 * kRows));
  ASSERT_TANG(tangSuccess, tangMemcpy2D(ptr, 32, host.data(), 16, kWidth, kRows,
                                        tangMemcpyHostToDevice));
  std::vector<char> back(12 * kRows);
  ASSERT_TANG(tangSuccess,
              tangMemcpy2DAsync(back.data(), 12, ptr, 32, kWidth, kRows,
                                tangMemcpyDeviceToHost, stream_));
  for (size_t row = 0; row < kRows; ++row) {
    for (size_t i = 0; i < 12; ++i) {
      EXPECT_EQ(back[12 * row + i], i < kWidth ? host[16 * row + i] : 0);
    }
  }
  EXPECT_EQ(tangMemcpy2D(ptr, 5, host.data(), 16, kWidth, kRows,
                         tangMemcpyHostToDevice),
            tangErrorInvalidValue)
      << "a pitch below the width";
  EXPECT_EQ(tangMemcpy2D(ptr, 32, host.data(), 16, kWidth, kRows,
                         tangMemcpyDeviceToDevice),
            tangErrorInvalidMemcpyDirection);
}

}  // namespace
