// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <iterator>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
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

// Numbers are those of the real runtime; where they differ from CUDA's is easy
// to get wrong.
TEST_F(TangTest, EveryCodeHasItsNumberAndName) {
  const std::pair<tangError_t, int> codes[] = {
      {tangErrorInvalidValue, 1},
      {tangErrorMemoryAllocation, 2},
      {tangErrorInitializationError, 3},
      {tangErrorDeinitialized, 4},
      {tangErrorInvalidConfiguration, 9},
      {tangErrorInvalidDevicePointer, 17},
      {tangErrorInvalidMemcpyDirection, 21},
      {tangErrorInsufficientDriver, 35},
      {tangErrorNotImplemented, 99},
      {tangErrorNoDevice, 100},
      {tangErrorInvalidDevice, 101},
      {tangErrorIllegalState, 305},
      {tangErrorStreamCaptureUnsupported, 306},
      {tangErrorStreamCaptureInvalidated, 307},
      {tangErrorStreamCaptureMerge, 308},
      {tangErrorStreamCaptureUnmatched, 309},
      {tangErrorStreamCaptureUnjoined, 310},
      {tangErrorStreamCaptureIsolation, 311},
      {tangErrorStreamCaptureImplicit, 312},
      {tangErrorStreamCaptureWrongThread, 313},
      {tangErrorCapturedEvent, 314},
      {tangErrorInvalidResourceHandle, 400},
      {tangErrorSymbolNotFound, 500},
      {tangErrorNotReady, 600},
      {tangErrorIllegalAddress, 700},
      {tangErrorPeerAccessAlreadyEnabled, 704},
      {tangErrorPeerAccessNotEnabled, 705},
      {tangErrorHostMemoryAlreadyRegistered, 712},
      {tangErrorLaunchFailure, 719},
      {tangErrorNotSupported, 801},
      {tangErrorUnknown, 999},
      {tangErrorDeviceOutOfMemory, 3006},
      {tangErrorDriverIoctlFailed, 10000}};
  std::set<std::string> names;
  std::set<std::string> texts;
  for (const auto& [code, number] : codes) {
    EXPECT_EQ(int{code}, number) << tangGetErrorName(code);
    const std::string name = tangGetErrorName(code);
    EXPECT_EQ(name.rfind("tangError", 0), 0u) << number << ": " << name;
    names.insert(name);
    texts.insert(tangGetErrorString(code));
  }
  EXPECT_EQ(names.size(), std::size(codes));
  EXPECT_EQ(texts.size(), std::size(codes));
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
  void* const inside = static_cast<char*>(ptr) + 7;
  ASSERT_TANG(tangSuccess, tangPointerGetAttributes(&attributes, inside));
  EXPECT_EQ(attributes.devicePointer, inside);
  ASSERT_TANG(tangSuccess, tangMemset(inside, 5, 1));
  EXPECT_EQ(*static_cast<char*>(attributes.hostPointer), 5);
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

// The default streams have handles of their own.
TEST_F(TangTest, EveryThreadHasAStream) {
  int legacy = 0;
  int own = 0;
  int of_device_1 = 0;
  int of_thread = 0;
  ASSERT_TANG(tangSuccess, tangStreamGetId(tangStreamLegacy, &legacy));
  ASSERT_TANG(tangSuccess, tangStreamGetId(tangStreamPerThread, &own));
  std::thread([&] {
    EXPECT_EQ(tangStreamGetId(tangStreamPerThread, &of_thread), tangSuccess);
  }).join();
  ASSERT_TANG(tangSuccess, tangSetDevice(1));
  ASSERT_TANG(tangSuccess, tangStreamGetId(tangStreamPerThread, &of_device_1));
  ASSERT_TANG(tangSuccess, tangSetDevice(0));
  EXPECT_EQ((std::set<int>{legacy, own, of_thread, of_device_1}).size(), 4u);
  int again = 0;
  ASSERT_TANG(tangSuccess, tangStreamGetId(tangStreamPerThread, &again));
  EXPECT_EQ(again, own);
  ASSERT_TANG(tangSuccess, tangStreamSynchronize(tangStreamPerThread));
  EXPECT_EQ(tangStreamDestroy(tangStreamPerThread),
            tangErrorInvalidResourceHandle);
  ASSERT_TANG(tangSuccess, tangDeviceReset());
  ASSERT_TANG(tangSuccess, tangStreamSynchronize(tangStreamPerThread))
      << "the stream comes back after a reset";
}

TEST_F(TangTest, CallbacksAreToldOfTheDevicesError) {
  tangStream_t stream = nullptr;
  ASSERT_TANG(tangSuccess,
              tangStreamCreateWithFlags(&stream, tangStreamNonBlocking));
  ASSERT_EQ(SOFT_OK,
            soft_launch(
                stream, [](void*) { throw std::runtime_error("on purpose"); },
                nullptr, 0));
  static std::atomic<int> told;
  told = -1;
  ASSERT_TANG(tangSuccess, tangStreamAddCallback(
                               stream,
                               [](tangStream_t, tangError_t status, void*) {
                                 told = status;
                               },
                               nullptr, 0));
  EXPECT_EQ(tangStreamSynchronize(stream), tangErrorLaunchFailure);
  EXPECT_EQ(told, tangErrorLaunchFailure);
}

TEST_F(TangTest, MissingOutputsAreRefused) {
  EXPECT_EQ(tangGetDeviceCount(nullptr), tangErrorInvalidValue);
  EXPECT_EQ(tangGetDeviceProperties(nullptr, 0), tangErrorInvalidValue);
  EXPECT_EQ(tangDeviceGetPCIBusId(nullptr, 20, 0), tangErrorInvalidValue);
  EXPECT_EQ(tangDeviceCanAccessPeer(nullptr, 0, 1), tangErrorInvalidValue);
  EXPECT_EQ(tangStreamGetPriority(nullptr, nullptr), tangErrorInvalidValue);
  EXPECT_EQ(tangStreamGetFlags(nullptr, nullptr), tangErrorInvalidValue);
  EXPECT_EQ(tangStreamGetId(nullptr, nullptr), tangErrorInvalidValue);
  EXPECT_EQ(tangStreamCreate(nullptr), tangErrorInvalidValue);
  EXPECT_EQ(tangEventCreate(nullptr), tangErrorInvalidValue);
  EXPECT_EQ(tangMalloc(nullptr, 8), tangErrorInvalidValue);
  EXPECT_EQ(tangMallocAsync(nullptr, 8, nullptr), tangErrorInvalidValue);
  EXPECT_EQ(tangMallocHost(nullptr, 8), tangErrorInvalidValue);
}

TEST_F(TangTest, PropertiesAgreeWithAttributes) {
  tangDeviceProp properties;
  ASSERT_TANG(tangSuccess, tangGetDeviceProperties(&properties, 1));
  EXPECT_EQ(sizeof(properties), 540u);
  EXPECT_STRNE(properties.name, "");
  const std::pair<tangDeviceAttr, int> attributes[] = {
      {tangDevAttrWarpSize, properties.warpSize},
      {tangDevAttrMaxThreadsPerBlock, properties.maxThreadsPerBlock},
      {tangDevAttrMultiProcessorCount, properties.multiProcessorCount},
      {tangDevAttrComputeCapabilityMajor, properties.major}};
  for (const auto& [attribute, expected] : attributes) {
    int value = 0;
    ASSERT_TANG(tangSuccess, tangDeviceGetAttribute(&value, attribute, 1));
    EXPECT_EQ(value, expected) << attribute;
  }
  size_t free_bytes = 0;
  size_t total = 0;
  ASSERT_TANG(tangSuccess, tangMemGetInfo(&free_bytes, &total));
  EXPECT_EQ(properties.totalGlobalMem, total);
  EXPECT_EQ(tangGetDeviceProperties(&properties, 2), tangErrorInvalidDevice);
  char first[13];
  char second[13];
  ASSERT_TANG(tangSuccess, tangDeviceGetPCIBusId(first, 13, 0));
  ASSERT_TANG(tangSuccess, tangDeviceGetPCIBusId(second, 13, 1));
  EXPECT_STREQ(first, "0000:01:00.0");
  EXPECT_STRNE(first, second);
  EXPECT_EQ(tangDeviceGetPCIBusId(first, 12, 0), tangErrorInvalidValue);
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
