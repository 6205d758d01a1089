// SPDX-License-Identifier: Apache-2.0
//
// What tang adds to softdevice's graphs; capture itself is tested there.
#include <cstdint>
#include <string>
#include <vector>

#include "vendors/droplet/tang/tests/kernel_test.h"

namespace {

__global__ void addOne(int* data) { data[threadIdx.x] += 1; }

// Each thread adds its neighbour's value.
__global__ void addNeighbour(int* data) {
  __shared__ int tile[64];
  tile[threadIdx.x] = data[threadIdx.x];
  __syncthreads();
  data[threadIdx.x] += tile[(threadIdx.x + 1) % blockDim.x];
}

class GraphTest : public dipu::tang::KernelTest {
 protected:
  void SetUp() override {
    ASSERT_EQ(tangStreamCreateWithFlags(&stream_, tangStreamNonBlocking),
              tangSuccess);
  }
  tangStream_t stream_ = nullptr;
};

TEST_F(GraphTest, KernelsAreCapturedWithTheirArguments) {
  int* data = toDevice(std::vector<int>(64, 1));
  ASSERT_EQ(tangStreamBeginCapture(stream_, tangStreamCaptureModeGlobal),
            tangSuccess);
  {
    int* argument = data;
    void* args[] = {&argument};
    ASSERT_EQ(launchKernel(addOne, dim3(1), dim3(64), args, 0, stream_),
              tangSuccess);
    ASSERT_EQ(launchKernel(addNeighbour, dim3(1), dim3(64), args, 0, stream_),
              tangSuccess);
    argument = nullptr;
  }
  tangGraph_t graph = nullptr;
  ASSERT_EQ(tangStreamEndCapture(stream_, &graph), tangSuccess);
  EXPECT_EQ(toHost(data, 64), std::vector<int>(64, 1)) << "nothing ran";
  tangGraphExec_t exec = nullptr;
  ASSERT_EQ(tangGraphInstantiate(&exec, graph, nullptr, nullptr, 0),
            tangSuccess);
  ASSERT_EQ(tangGraphDestroy(graph), tangSuccess);
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(tangGraphLaunch(exec, stream_), tangSuccess);
  }
  ASSERT_EQ(tangStreamSynchronize(stream_), tangSuccess);
  EXPECT_EQ(toHost(data, 64), std::vector<int>(64, 22)) << "((1+1)2+1)2+1)2";
  EXPECT_EQ(tangGraphExecDestroy(exec), tangSuccess);
}

TEST_F(GraphTest, CaptureInfoAndModes) {
  tangStreamCaptureStatus status = tangStreamCaptureStatusActive;
  ASSERT_EQ(tangStreamIsCapturing(stream_, &status), tangSuccess);
  EXPECT_EQ(status, tangStreamCaptureStatusNone);
  tangStreamCaptureMode mode = tangStreamCaptureModeRelaxed;
  ASSERT_EQ(tangThreadExchangeStreamCaptureMode(&mode), tangSuccess);
  EXPECT_EQ(mode, tangStreamCaptureModeGlobal);
  ASSERT_EQ(tangStreamBeginCapture(stream_, tangStreamCaptureModeGlobal),
            tangSuccess);
  unsigned long long id = 0;
  tangGraph_t graph = nullptr;
  const tangGraphNode_t* nodes = nullptr;
  size_t count = 1;
  ASSERT_EQ(
      tangStreamGetCaptureInfo(stream_, &status, &id, &graph, &nodes, &count),
      tangSuccess);
  EXPECT_EQ(status, tangStreamCaptureStatusActive);
  EXPECT_NE(id, 0u);
  EXPECT_EQ(count, 0u);
  void* ptr = nullptr;
  EXPECT_EQ(tangMalloc(&ptr, 8), tangSuccess) << "the thread's mode permits it";
  ASSERT_EQ(tangThreadExchangeStreamCaptureMode(&mode), tangSuccess);
  EXPECT_EQ(tangMalloc(&ptr, 8), tangErrorStreamCaptureUnsupported);
  EXPECT_EQ(tangStreamEndCapture(stream_, &graph),
            tangErrorStreamCaptureInvalidated);
}

TEST_F(GraphTest, CodesOfTheirOwn) {
  tangGraph_t graph = nullptr;
  EXPECT_EQ(tangStreamEndCapture(stream_, &graph),
            tangErrorStreamCaptureUnmatched);
  ASSERT_EQ(tangStreamBeginCapture(stream_, tangStreamCaptureModeThreadLocal),
            tangSuccess);
  void* ptr = nullptr;
  EXPECT_EQ(tangMallocAsync(&ptr, 8, stream_),
            tangErrorStreamCaptureUnsupported);
  EXPECT_EQ(tangFreeAsync(nullptr, stream_), tangErrorStreamCaptureUnsupported);
  EXPECT_EQ(tangStreamSynchronize(stream_), tangErrorStreamCaptureUnsupported);
  EXPECT_EQ(tangStreamEndCapture(stream_, &graph),
            tangErrorStreamCaptureInvalidated);
  EXPECT_EQ(tangStreamBeginCapture(nullptr, tangStreamCaptureModeGlobal),
            tangErrorStreamCaptureUnsupported)
      << "a default stream";
}

TEST_F(GraphTest, MissingGraphsAreRefused) {
  tangGraphExec_t exec = nullptr;
  EXPECT_EQ(tangGraphInstantiate(&exec, nullptr, nullptr, nullptr, 0),
            tangErrorInvalidValue);
  EXPECT_EQ(tangGraphLaunch(nullptr, stream_), tangErrorInvalidValue);
  EXPECT_EQ(tangGraphDestroy(nullptr), tangErrorInvalidValue);
  EXPECT_EQ(tangGraphExecDestroy(nullptr), tangErrorInvalidValue);
  EXPECT_EQ(tangStreamEndCapture(stream_, nullptr), tangErrorInvalidValue);
}

}  // namespace
