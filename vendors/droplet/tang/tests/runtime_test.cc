// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "softdevice/softdevice.h"
#include "vendors/droplet/tang/tang_runtime.h"

namespace {

#define ASSERT_TANG(expected, call) \
  ASSERT_EQ(expected, call) << tangGetErrorString(tangPeekAtLastError())

class TangTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    setenv("SOFTDEVICE_COUNT", "2", 1);
    setenv("SOFTDEVICE_MEMORY", "64M", 1);
  }
  void TearDown() override {
    for (int device : {1, 0}) {
      EXPECT_EQ(tangSetDevice(device), tangSuccess);
      EXPECT_EQ(tangDeviceReset(), tangSuccess);
    }
    tangGetLastError();
  }
};

TEST_F(TangTest, TheCurrentDeviceBelongsToTheThread) {
  int count = 0;
  ASSERT_TANG(tangSuccess, tangGetDeviceCount(&count));
  EXPECT_EQ(count, 2);
  ASSERT_TANG(tangSuccess, tangSetDevice(1));
  EXPECT_EQ(tangSetDevice(2), tangErrorInvalidDevice);
  int device = -1;
  ASSERT_TANG(tangSuccess, tangGetDevice(&device));
  EXPECT_EQ(device, 1);
  std::thread([] {
    int other = -1;
    EXPECT_EQ(tangGetDevice(&other), tangSuccess);
    EXPECT_EQ(other, 0);
  }).join();
  tangStream_t stream = nullptr;
  ASSERT_TANG(tangSuccess, tangStreamCreate(&stream));
  EXPECT_EQ(soft_stream_device(stream), 1) << "the handle is softdevice's";
}

TEST_F(TangTest, TheLastErrorIsReadOnceAndPerThread) {
  EXPECT_EQ(tangGetLastError(), tangSuccess);
  EXPECT_EQ(tangSetDevice(7), tangErrorInvalidDevice);
  std::thread([] { EXPECT_EQ(tangPeekAtLastError(), tangSuccess); }).join();
  EXPECT_EQ(tangPeekAtLastError(), tangErrorInvalidDevice);
  EXPECT_STREQ(tangGetErrorName(tangErrorInvalidDevice),
               "tangErrorInvalidDevice");
  EXPECT_NE(
      std::string(tangGetErrorString(tangErrorInvalidDevice)).find("device 7"),
      std::string::npos);
  EXPECT_EQ(tangGetLastError(), tangErrorInvalidDevice);
  EXPECT_EQ(tangGetLastError(), tangSuccess);
  EXPECT_STREQ(tangGetErrorString(tangSuccess), "no error");
  EXPECT_STREQ(tangGetErrorName(static_cast<tangError_t>(12345)),
               "unrecognized error code");
}

TEST_F(TangTest, TwoCodesForExhaustedMemory) {
  void* ptr = nullptr;
  EXPECT_EQ(tangMalloc(&ptr, 65 << 20), tangErrorDeviceOutOfMemory);
  EXPECT_EQ(tangMallocHost(&ptr, size_t{1} << 50), tangErrorMemoryAllocation);
  EXPECT_EQ(int{tangErrorDeviceOutOfMemory}, 3006);
}

TEST_F(TangTest, AnAllocationOfNothingIsNull) {
  void* ptr = &ptr;
  ASSERT_TANG(tangSuccess, tangMalloc(&ptr, 0));
  EXPECT_EQ(ptr, nullptr);
  EXPECT_EQ(tangFree(nullptr), tangSuccess);
  int local = 0;
  EXPECT_EQ(tangFree(&local), tangErrorInvalidDevicePointer);
}

TEST_F(TangTest, FreeWaitsForTheDevice) {
  tangStream_t stream = nullptr;
  ASSERT_TANG(tangSuccess,
              tangStreamCreateWithFlags(&stream, tangStreamNonBlocking));
  void* ptr = nullptr;
  ASSERT_TANG(tangSuccess, tangMalloc(&ptr, 100));
  static std::atomic<bool> ran;
  ran = false;
  ASSERT_TANG(tangSuccess, tangLaunchHostFunc(
                               stream,
                               [](void*) {
                                 std::this_thread::yield();
                                 ran = true;
                               },
                               nullptr));
  ASSERT_TANG(tangSuccess, tangFree(ptr));
  EXPECT_TRUE(ran);
}

TEST_F(TangTest, CopiesNeedTheRightDirection) {
  void* ptr = nullptr;
  ASSERT_TANG(tangSuccess, tangMalloc(&ptr, 16));
  std::vector<char> host(16, 'a');
  constexpr auto kDefault = static_cast<tangMemcpyKind>(4);
  EXPECT_EQ(tangMemcpy(ptr, host.data(), 16, kDefault),
            tangErrorInvalidMemcpyDirection);
  EXPECT_EQ(tangMemcpy(ptr, host.data(), 16, tangMemcpyDeviceToHost),
            tangErrorInvalidMemcpyDirection);
  ASSERT_TANG(tangSuccess,
              tangMemcpy(ptr, host.data(), 16, tangMemcpyHostToDevice));
  std::vector<char> back(16);
  ASSERT_TANG(tangSuccess, tangMemcpyAsync(back.data(), ptr, 16,
                                           tangMemcpyDeviceToHost, nullptr));
  EXPECT_EQ(back, host);
  ASSERT_TANG(tangSuccess, tangMemset(ptr, 'b', 8));
  ASSERT_TANG(tangSuccess,
              tangMemcpy(back.data(), ptr, 16, tangMemcpyDeviceToHost));
  EXPECT_EQ(std::string(back.begin(), back.end()), "bbbbbbbbaaaaaaaa");
}

TEST_F(TangTest, PeerCopiesAndPeerAccess) {
  void* first = nullptr;
  void* second = nullptr;
  ASSERT_TANG(tangSuccess, tangMalloc(&first, 8));
  ASSERT_TANG(tangSuccess, tangMemset(first, 5, 8));
  ASSERT_TANG(tangSuccess, tangSetDevice(1));
  ASSERT_TANG(tangSuccess, tangMalloc(&second, 8));
  ASSERT_TANG(tangSuccess, tangMemcpyPeer(second, 1, first, 0, 8));
  EXPECT_EQ(tangMemcpyPeer(second, 0, first, 1, 8), tangErrorInvalidValue);
  char value = 0;
  ASSERT_TANG(tangSuccess,
              tangMemcpy(&value, second, 1, tangMemcpyDeviceToHost));
  EXPECT_EQ(value, 5);
  int accessible = 0;
  ASSERT_TANG(tangSuccess, tangDeviceCanAccessPeer(&accessible, 0, 1));
  EXPECT_EQ(accessible, 1);
  EXPECT_EQ(tangDeviceDisablePeerAccess(0), tangErrorPeerAccessNotEnabled);
  ASSERT_TANG(tangSuccess, tangDeviceEnablePeerAccess(0, 0));
  EXPECT_EQ(tangDeviceEnablePeerAccess(0, 0),
            tangErrorPeerAccessAlreadyEnabled);
  EXPECT_EQ(tangDeviceDisablePeerAccess(0), tangSuccess);
}

TEST_F(TangTest, PointersAndRegistration) {
  tangPointerAttributes attributes;
  void* ptr = nullptr;
  ASSERT_TANG(tangSuccess, tangMalloc(&ptr, 8));
  ASSERT_TANG(tangSuccess, tangPointerGetAttributes(&attributes, ptr));
  EXPECT_EQ(attributes.type, tangMemoryTypeDevice);
  EXPECT_EQ(attributes.device, 0);
  std::vector<char> host(100);
  ASSERT_TANG(tangSuccess, tangPointerGetAttributes(&attributes, host.data()));
  EXPECT_EQ(attributes.type, tangMemoryTypeUnregistered);
  ASSERT_TANG(tangSuccess, tangHostRegister(host.data(), 100, 0));
  EXPECT_EQ(tangHostRegister(host.data(), 100, 0),
            tangErrorHostMemoryAlreadyRegistered);
  ASSERT_TANG(tangSuccess, tangPointerGetAttributes(&attributes, host.data()));
  EXPECT_EQ(attributes.type, tangMemoryTypeHost);
  EXPECT_EQ(tangHostUnregister(host.data()), tangSuccess);
  EXPECT_EQ(tangHostAlloc(&ptr, 8, tangHostAllocMapped), tangErrorNotSupported);
}

TEST_F(TangTest, StreamsCallbacksAndEvents) {
  tangStream_t stream = nullptr;
  ASSERT_TANG(tangSuccess,
              tangStreamCreateWithPriority(&stream, tangStreamNonBlocking, -2));
  int priority = 0;
  unsigned flags = 0;
  ASSERT_TANG(tangSuccess, tangStreamGetPriority(stream, &priority));
  ASSERT_TANG(tangSuccess, tangStreamGetFlags(stream, &flags));
  EXPECT_EQ(priority, -2);
  EXPECT_EQ(flags, unsigned{tangStreamNonBlocking});
  tangEvent_t start = nullptr;
  tangEvent_t stop = nullptr;
  ASSERT_TANG(tangSuccess, tangEventCreate(&start));
  ASSERT_TANG(tangSuccess, tangEventCreate(&stop));
  ASSERT_TANG(tangSuccess, tangEventRecord(start, stream));
  static tangStream_t seen;
  static std::atomic<bool> open;
  open = false;
  ASSERT_TANG(tangSuccess,
              tangStreamAddCallback(
                  stream,
                  [](tangStream_t from, tangError_t status, void* data) {
                    EXPECT_EQ(status, tangSuccess);
                    seen = from;
                    while (!*static_cast<std::atomic<bool>*>(data)) {
                      std::this_thread::yield();
                    }
                  },
                  &open, 0));
  ASSERT_TANG(tangSuccess, tangEventRecord(stop, stream));
  EXPECT_EQ(tangEventQuery(stop), tangErrorNotReady);
  EXPECT_EQ(tangStreamQuery(stream), tangErrorNotReady);
  EXPECT_EQ(tangPeekAtLastError(), tangSuccess) << "not ready is no failure";
  open = true;
  ASSERT_TANG(tangSuccess, tangEventSynchronize(stop));
  EXPECT_EQ(seen, stream);
  float ms = -1;
  ASSERT_TANG(tangSuccess, tangEventElapsedTime(&ms, start, stop));
  EXPECT_GE(ms, 0.0f);
  EXPECT_EQ(tangEventDestroy(start), tangSuccess);
  EXPECT_EQ(tangEventDestroy(stop), tangSuccess);
  EXPECT_EQ(tangStreamDestroy(nullptr), tangErrorInvalidResourceHandle);
  EXPECT_EQ(tangStreamDestroy(stream), tangSuccess);
  EXPECT_EQ(tangStreamSynchronize(stream), tangErrorInvalidResourceHandle);
  EXPECT_EQ(tangEventCreateWithFlags(&start, tangEventInterprocess),
            tangErrorNotSupported);
}

TEST_F(TangTest, AttributesAndRanges) {
  int value = 0;
  ASSERT_TANG(tangSuccess,
              tangDeviceGetAttribute(&value, tangDevAttrMaxThreadsPerBlock, 0));
  EXPECT_EQ(value, 1024);
  EXPECT_EQ(tangDeviceGetAttribute(&value, static_cast<tangDeviceAttr>(999), 0),
            tangErrorInvalidValue);
  int least = 0;
  int greatest = 0;
  ASSERT_TANG(tangSuccess, tangDeviceGetStreamPriorityRange(&least, &greatest));
  EXPECT_EQ(least, 1);
  EXPECT_EQ(greatest, -2);
  ASSERT_TANG(tangSuccess, tangRuntimeGetVersion(&value));
  EXPECT_GT(value, 0);
}

}  // namespace
