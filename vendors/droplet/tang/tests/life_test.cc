// SPDX-License-Identifier: Apache-2.0
//
// tang and the life of its process: fork, reset, and many switches of the
// device.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <thread>

#include "softdevice/tests/declared.h"
#include "softdevice/tests/forked_child.h"
#include "vendors/droplet/tang/tang_runtime.h"

namespace {

using dipu::softdevice::childExpect;
using dipu::softdevice::runInChild;

void nothing(void*) {}
void callback(tangStream_t, tangError_t, void*) {}

std::size_t entriesOf(const char* folder) {
  return std::distance(std::filesystem::directory_iterator(folder), {});
}

// Something of each kind that a call may be about.
struct Handles {
  void* memory = nullptr;
  void* pinned = nullptr;
  tangStream_t stream = nullptr;
  tangEvent_t event = nullptr;
  tangIpcMemHandle_t handle{};
  tangGraph_t graph = nullptr;
  tangGraphExec_t exec = nullptr;
};

Handles makeHandles() {
  Handles h;
  EXPECT_EQ(tangMalloc(&h.memory, 4096), tangSuccess);
  EXPECT_EQ(tangMallocHost(&h.pinned, 4096), tangSuccess);
  EXPECT_EQ(tangStreamCreate(&h.stream), tangSuccess);
  EXPECT_EQ(tangEventCreate(&h.event), tangSuccess);
  EXPECT_EQ(tangIpcGetMemHandle(&h.handle, h.memory), tangSuccess);
  EXPECT_EQ(tangStreamBeginCapture(h.stream, tangStreamCaptureModeRelaxed),
            tangSuccess);
  EXPECT_EQ(tangMemsetAsync(h.memory, 0, 8, h.stream), tangSuccess);
  EXPECT_EQ(tangStreamEndCapture(h.stream, &h.graph), tangSuccess);
  EXPECT_EQ(tangGraphInstantiateWithFlags(&h.exec, h.graph, 0), tangSuccess);
  return h;
}

void destroyHandles(const Handles& h) {
  EXPECT_EQ(tangGraphExecDestroy(h.exec), tangSuccess);
  EXPECT_EQ(tangGraphDestroy(h.graph), tangSuccess);
  EXPECT_EQ(tangEventDestroy(h.event), tangSuccess);
  EXPECT_EQ(tangFreeHost(h.pinned), tangSuccess);
}

union Output {
  char bytes[sizeof(tangDeviceProp)];
  int number;
  float real;
  std::size_t sizes[2];
  void* pointer;
  tangDeviceProp properties;
  tangPointerAttributes attributes;
  tangStream_t stream;
  tangEvent_t event;
  tangGraph_t graph;
  tangGraphExec_t exec;
  tangStreamCaptureStatus capture;
  tangIpcMemHandle_t handle;
};

using Calls = std::map<std::string, std::function<tangError_t()>>;

// This and the next two are long, since they are tables.
void addMemoryCalls(const Handles& h, Output* out, Calls* calls) {
  Calls& c = *calls;
  c["tangGetDeviceCount"] = [=] { return tangGetDeviceCount(&out->number); };
  c["tangSetDevice"] = [] { return tangSetDevice(1); };
  c["tangDeviceSynchronize"] = [] { return tangDeviceSynchronize(); };
  c["tangDeviceReset"] = [] { return tangDeviceReset(); };
  c["tangDeviceGetAttribute"] = [=] {
    return tangDeviceGetAttribute(&out->number, tangDevAttrWarpSize, 0);
  };
  c["tangGetDeviceProperties"] = [=] {
    return tangGetDeviceProperties(&out->properties, 0);
  };
  c["tangDeviceGetPCIBusId"] = [=] {
    return tangDeviceGetPCIBusId(out->bytes, 16, 0);
  };
  c["tangDeviceGetStreamPriorityRange"] = [=] {
    return tangDeviceGetStreamPriorityRange(&out->number, nullptr);
  };
  c["tangDeviceCanAccessPeer"] = [=] {
    return tangDeviceCanAccessPeer(&out->number, 0, 1);
  };
  c["tangDeviceEnablePeerAccess"] = [] {
    return tangDeviceEnablePeerAccess(1, 0);
  };
  c["tangDeviceDisablePeerAccess"] = [] {
    return tangDeviceDisablePeerAccess(1);
  };
  c["tangMalloc"] = [=] { return tangMalloc(&out->pointer, 8); };
  c["tangFree"] = [=] { return tangFree(h.memory); };
  c["tangMallocAsync"] = [=] {
    return tangMallocAsync(&out->pointer, 8, h.stream);
  };
  c["tangFreeAsync"] = [=] { return tangFreeAsync(h.memory, h.stream); };
  c["tangMallocHost"] = [=] { return tangMallocHost(&out->pointer, 8); };
  c["tangHostAlloc"] = [=] { return tangHostAlloc(&out->pointer, 8, 0); };
  c["tangFreeHost"] = [=] { return tangFreeHost(h.pinned); };
  c["tangHostRegister"] = [=] { return tangHostRegister(out, 8, 0); };
  c["tangHostUnregister"] = [=] { return tangHostUnregister(out); };
  c["tangMemGetInfo"] = [=] {
    return tangMemGetInfo(&out->sizes[0], &out->sizes[1]);
  };
  c["tangPointerGetAttributes"] = [=] {
    return tangPointerGetAttributes(&out->attributes, h.memory);
  };
  c["tangIpcGetMemHandle"] = [=] {
    return tangIpcGetMemHandle(&out->handle, h.memory);
  };
  c["tangIpcOpenMemHandle"] = [=] {
    return tangIpcOpenMemHandle(&out->pointer, h.handle,
                                tangIpcMemLazyEnablePeerAccess);
  };
  c["tangIpcCloseMemHandle"] = [=] { return tangIpcCloseMemHandle(h.memory); };
}

void addCopyCalls(const Handles& h, Output* out, Calls* calls) {
  Calls& c = *calls;
  constexpr auto kDown = tangMemcpyDeviceToHost;
  void* const m = h.memory;
  c["tangMemcpy"] = [=] { return tangMemcpy(out, m, 8, kDown); };
  c["tangMemcpyAsync"] = [=] {
    return tangMemcpyAsync(out, m, 8, kDown, h.stream);
  };
  c["tangMemcpyPeer"] = [=] { return tangMemcpyPeer(m, 0, m, 0, 8); };
  c["tangMemcpyPeerAsync"] = [=] {
    return tangMemcpyPeerAsync(m, 0, m, 0, 8, h.stream);
  };
  c["tangMemcpy2D"] = [=] { return tangMemcpy2D(out, 8, m, 8, 8, 2, kDown); };
  c["tangMemcpy2DAsync"] = [=] {
    return tangMemcpy2DAsync(out, 8, m, 8, 8, 2, kDown, h.stream);
  };
  c["tangMemset"] = [=] { return tangMemset(m, 0, 8); };
  c["tangMemsetAsync"] = [=] { return tangMemsetAsync(m, 0, 8, h.stream); };
  c["tangEventCreate"] = [=] { return tangEventCreate(&out->event); };
  c["tangEventCreateWithFlags"] = [=] {
    return tangEventCreateWithFlags(&out->event, tangEventDisableTiming);
  };
  c["tangEventRecord"] = [=] { return tangEventRecord(h.event, h.stream); };
  c["tangEventRecordWithFlags"] = [=] {
    return tangEventRecordWithFlags(h.event, h.stream, 0);
  };
  c["tangEventSynchronize"] = [=] { return tangEventSynchronize(h.event); };
  c["tangEventQuery"] = [=] { return tangEventQuery(h.event); };
  c["tangEventElapsedTime"] = [=] {
    return tangEventElapsedTime(&out->real, h.event, h.event);
  };
}

void addStreamCalls(const Handles& h, Output* out, Calls* calls) {
  Calls& c = *calls;
  c["tangStreamCreate"] = [=] { return tangStreamCreate(&out->stream); };
  c["tangStreamCreateWithFlags"] = [=] {
    return tangStreamCreateWithFlags(&out->stream, tangStreamNonBlocking);
  };
  c["tangStreamCreateWithPriority"] = [=] {
    return tangStreamCreateWithPriority(&out->stream, 0, 1);
  };
  c["tangStreamDestroy"] = [=] { return tangStreamDestroy(h.stream); };
  c["tangStreamSynchronize"] = [] { return tangStreamSynchronize(nullptr); };
  c["tangStreamQuery"] = [] { return tangStreamQuery(tangStreamPerThread); };
  c["tangStreamWaitEvent"] = [=] {
    return tangStreamWaitEvent(h.stream, h.event, 0);
  };
  c["tangStreamAddCallback"] = [=] {
    return tangStreamAddCallback(h.stream, callback, nullptr, 0);
  };
  c["tangLaunchHostFunc"] = [=] {
    return tangLaunchHostFunc(h.stream, nothing, nullptr);
  };
  c["tangStreamBeginCapture"] = [=] {
    return tangStreamBeginCapture(h.stream, tangStreamCaptureModeGlobal);
  };
  c["tangStreamEndCapture"] = [=] {
    return tangStreamEndCapture(h.stream, &out->graph);
  };
  c["tangStreamIsCapturing"] = [=] {
    return tangStreamIsCapturing(h.stream, &out->capture);
  };
  c["tangStreamGetCaptureInfo"] = [=] {
    return tangStreamGetCaptureInfo(h.stream, &out->capture, nullptr, nullptr,
                                    nullptr, nullptr);
  };
  c["tangGraphInstantiate"] = [=] {
    return tangGraphInstantiate(&out->exec, h.graph, nullptr, nullptr, 0);
  };
  c["tangGraphInstantiateWithFlags"] = [=] {
    return tangGraphInstantiateWithFlags(&out->exec, h.graph, 0);
  };
  c["tangGraphLaunch"] = [=] { return tangGraphLaunch(h.exec, h.stream); };
}

Calls makeCalls(const Handles& handles, Output* out) {
  Calls calls;
  addMemoryCalls(handles, out, &calls);
  addCopyCalls(handles, out, &calls);
  addStreamCalls(handles, out, &calls);
  return calls;
}

// What needs no device: the calling thread's own state, versions, facts about a
// handle, the end of objects that lie in host memory, and what no card does.
// tangLaunchKernel is tried where there are kernels, in kernel_test.
const std::set<std::string> kWithoutDevice = {
    "tangDriverGetVersion",
    "tangEventDestroy",
    "tangGetDevice",
    "tangGetErrorName",
    "tangGetErrorString",
    "tangGetLastError",
    "tangGraphDestroy",
    "tangGraphExecDestroy",
    "tangIpcGetEventHandle",
    "tangIpcOpenEventHandle",
    "tangLaunchKernel",
    "tangPeekAtLastError",
    "tangRuntimeGetVersion",
    "tangStreamGetFlags",
    "tangStreamGetId",
    "tangStreamGetPriority",
    "tangThreadExchangeStreamCaptureMode",
};

class LifeTest : public ::testing::Test {
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
  }
};

TEST_F(LifeTest, EveryFunctionIsTriedInAForkedChild) {
  Output out;
  std::set<std::string> tried = kWithoutDevice;
  for (const auto& call : makeCalls(Handles{}, &out)) tried.insert(call.first);
  EXPECT_EQ(tried, dipu::softdevice::declaredFunctions(
                       {"vendors/droplet/tang/tang_runtime.h",
                        "vendors/droplet/tang/tang_graph.h"},
                       "TANG_API ", "tang"));
}

TEST_F(LifeTest, EveryCallOfAForkedChildIsAClearError) {
  const Handles handles = makeHandles();
  ASSERT_EQ(tangStreamQuery(tangStreamPerThread), tangSuccess);
  Output out;
  const Calls calls = makeCalls(handles, &out);
  EXPECT_EQ(runInChild([&] {
              for (const auto& [name, call] : calls) {
                const tangError_t error = call();
                const std::string text = tangGetErrorString(error);
                childExpect(error == tangErrorIllegalState, name.c_str(),
                            static_cast<int>(error));
                childExpect(text.find("forked") != std::string::npos,
                            name.c_str(), __LINE__);
              }
              std::exit(3);
            }),
            3);
  EXPECT_EQ(tangGraphLaunch(handles.exec, handles.stream), tangSuccess);
  EXPECT_EQ(tangStreamSynchronize(handles.stream), tangSuccess);
  destroyHandles(handles);
}

TEST_F(LifeTest, AResetGivesEverythingBack) {
  ASSERT_EQ(tangDeviceSynchronize(), tangSuccess);
  std::size_t free_bytes = 0;
  std::size_t total = 0;
  const std::size_t files = entriesOf("/proc/self/fd");
  for (int i = 0; i < 100; ++i) {
    const Handles handles = makeHandles();
    void* kept = nullptr;
    ASSERT_EQ(tangMallocAsync(&kept, 32 << 20, handles.stream), tangSuccess);
    ASSERT_EQ(tangFreeAsync(kept, handles.stream), tangSuccess);
    ASSERT_EQ(tangStreamQuery(tangStreamPerThread), tangSuccess);
    ASSERT_EQ(tangDeviceReset(), tangSuccess);
    EXPECT_EQ(tangStreamQuery(handles.stream), tangErrorInvalidResourceHandle);
    ASSERT_EQ(tangMemGetInfo(&free_bytes, &total), tangSuccess);
    EXPECT_EQ(free_bytes, total);
    destroyHandles(handles);
  }
  EXPECT_EQ(entriesOf("/proc/self/fd"), files);
}

TEST_F(LifeTest, AThousandSwitchesOfTheDevice) {
  const auto use = [](int count) {
    for (int i = 0; i < count; ++i) {
      void* data = nullptr;
      ASSERT_EQ(tangSetDevice(i % 2), tangSuccess);
      ASSERT_EQ(tangMalloc(&data, 4096), tangSuccess);
      ASSERT_EQ(tangMemset(data, i, 4096), tangSuccess);
      ASSERT_EQ(tangMemsetAsync(data, i, 4096, tangStreamPerThread),
                tangSuccess);
      ASSERT_EQ(tangFree(data), tangSuccess);
    }
  };
  use(2);
  const std::size_t threads = entriesOf("/proc/self/task");
  use(1000);
  EXPECT_LE(entriesOf("/proc/self/task"), threads);
  for (int device : {0, 1}) {
    std::size_t free_bytes = 0;
    std::size_t total = 0;
    ASSERT_EQ(tangSetDevice(device), tangSuccess);
    ASSERT_EQ(tangMemGetInfo(&free_bytes, &total), tangSuccess);
    EXPECT_EQ(free_bytes, total);
  }
}

// Each thread has a stream per device of its own, which ends with it.
TEST_F(LifeTest, StreamsOfAThousandThreadsEnd) {
  ASSERT_EQ(tangDeviceSynchronize(), tangSuccess);
  const std::size_t threads = entriesOf("/proc/self/task");
  static std::atomic<int> runs;
  runs = 0;
  for (int i = 0; i < 1000; ++i) {
    std::thread([] {
      EXPECT_EQ(tangLaunchHostFunc(
                    tangStreamPerThread, [](void*) { ++runs; }, nullptr),
                tangSuccess);
    }).join();
  }
  EXPECT_EQ(tangDeviceSynchronize(), tangSuccess);
  EXPECT_EQ(runs, 1000);
  for (int i = 0; i < 30000 && entriesOf("/proc/self/task") > threads; ++i) {
    usleep(1000);
  }
  EXPECT_LE(entriesOf("/proc/self/task"), threads);
}

}  // namespace
