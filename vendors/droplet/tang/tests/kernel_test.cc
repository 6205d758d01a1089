// SPDX-License-Identifier: Apache-2.0
#include "vendors/droplet/tang/tests/kernel_test.h"

#include <numeric>
#include <string>
#include <vector>

#include "softdevice/tests/forked_child.h"

namespace {

using dipu::tang::KernelTest;

template <typename T>
__global__ void scale(T* data, int64_t count, T factor) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) data[i] *= factor;
}

// Writes each thread's rank in the whole grid.
__global__ void rank(unsigned* data) {
  const unsigned block =
      (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const unsigned thread =
      (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  const unsigned i = block * blockDim.x * blockDim.y * blockDim.z + thread;
  data[i] += i + 1;
}

struct Slice {
  float* data;
  int64_t step;
  Slice translate(tang::Translator& translator) const {
    return {translator(data), step};
  }
};

__global__ void fillSlice(Slice slice, float value, const float* bias) {
  slice.data[threadIdx.x * slice.step] = value + (bias ? *bias : 0.0f);
}

__global__ void nothing() {}

__global__ void throwing(int mode) {
  if (blockIdx.x == gridDim.x - 1 && mode == 0) {
    throw std::runtime_error("no luck");
  }
  if (mode == 1) throw 5;
}

TEST_F(KernelTest, EveryThreadRunsOnce) {
  for (const dim3 grid : {dim3(1), dim3(7), dim3(5, 3, 2)}) {
    for (const dim3 block : {dim3(1), dim3(512), dim3(8, 4, 3)}) {
      const std::size_t threads =
          std::size_t{grid.x} * grid.y * grid.z * block.x * block.y * block.z;
      unsigned* data = toDevice(std::vector<unsigned>(threads));
      void* args[] = {&data};
      ASSERT_EQ(launchKernel(rank, grid, block, args), tangSuccess);
      std::vector<unsigned> expected(threads);
      std::iota(expected.begin(), expected.end(), 1);
      EXPECT_EQ(toHost(data, threads), expected);
    }
  }
}

TEST_F(KernelTest, ArgumentsAreCopiedAtTheLaunch) {
  tangStream_t stream = nullptr;
  ASSERT_EQ(tangStreamCreateWithFlags(&stream, tangStreamNonBlocking),
            tangSuccess);
  float* data = toDevice(std::vector<float>(1000, 1.0f));
  int64_t count = 999;
  for (int i = 0; i < 20; ++i) {
    float factor = i % 2 == 0 ? 2.0f : 0.5f;
    void* args[] = {&data, &count, &factor};
    ASSERT_EQ(launchKernel(scale<float>, dim3(2), dim3(512), args, 0, stream),
              tangSuccess);
    factor = 100.0f;
  }
  float factor = 3.0f;
  void* args[] = {&data, &count, &factor};
  // A kernel whose name is not known where it is launched.
  auto* kernel = factor > 0 ? scale<float> : nullptr;
  ASSERT_EQ(launchKernel(kernel, dim3(2), dim3(512), args, 0, stream),
            tangSuccess);
  ASSERT_EQ(tangStreamSynchronize(stream), tangSuccess);
  std::vector<float> expected(1000, 3.0f);
  expected[999] = 1.0f;
  EXPECT_EQ(toHost(data, 1000), expected);
}

TEST_F(KernelTest, StructuresTranslateTheirPointers) {
  float* data = toDevice(std::vector<float>(9, 0.0f));
  float* bias = toDevice(std::vector<float>(1, 0.5f));
  Slice slice{data, 2};
  float value = 4.0f;
  void* args[] = {&slice, &value, &bias};
  ASSERT_EQ(launchKernel(fillSlice, dim3(1), dim3(3), args), tangSuccess);
  EXPECT_EQ(toHost(data, 5), (std::vector<float>{4.5f, 0, 4.5f, 0, 4.5f}));
  bias = nullptr;  // an optional argument
  ASSERT_EQ(launchKernel(fillSlice, dim3(1), dim3(3), args), tangSuccess);
  EXPECT_EQ(toHost(data, 5), (std::vector<float>{4, 0, 4, 0, 4}));
}

TEST_F(KernelTest, HostMemoryIsAnAsynchronousError) {
  std::vector<float> host(10);
  float* data = host.data();
  int64_t count = 10;
  float factor = 2.0f;
  void* args[] = {&data, &count, &factor};
  EXPECT_EQ(launchKernel(scale<float>, dim3(1), dim3(10), args), tangSuccess);
  EXPECT_EQ(tangDeviceSynchronize(), tangErrorIllegalAddress);
  EXPECT_NE(std::string(tangGetErrorString(tangErrorIllegalAddress))
                .find("host memory"),
            std::string::npos);
  EXPECT_EQ(host, std::vector<float>(10)) << "the kernel did not run";
}

TEST_F(KernelTest, AThrowingKernelFailsByItsName) {
  // On the stream's thread, then in a team.
  for (const dim3 grid : {dim3(1), dim3(100)}) {
    for (const char* reason : {"no luck", "not a std::exception"}) {
      int mode = reason[1] == 'o' && reason[2] == ' ' ? 0 : 1;
      void* args[] = {&mode};
      ASSERT_EQ(launchKernel(throwing, grid, dim3(100), args), tangSuccess);
      expectLaunchFailure({"throwing", reason});
    }
  }
}

TEST_F(KernelTest, RegisteredKernelsLaunchByTheirAddress) {
  float* data = toDevice(std::vector<float>(100, 1.0f));
  int64_t count = 100;
  float factor = 4.0f;
  void* args[] = {&data, &count, &factor};
  const auto* address = reinterpret_cast<const void*>(&scale<float>);
  EXPECT_EQ(tangLaunchKernel(address, dim3(1), dim3(100), args, 3, 0, nullptr),
            tangErrorSymbolNotFound);
  tang::registerKernel(scale<float>, "scale<float>");
  ASSERT_EQ(tangLaunchKernel(address, dim3(1), dim3(100), args, 3, 0, nullptr),
            tangSuccess);
  EXPECT_EQ(toHost(data, 100), std::vector<float>(100, 4.0f));
  EXPECT_EQ(tangLaunchKernel(address, dim3(1), dim3(100), args, 2, 0, nullptr),
            tangErrorInvalidValue);
  EXPECT_NE(std::string(tangGetErrorString(tangErrorInvalidValue))
                .find("scale<float> has 3 parameters"),
            std::string::npos);
}

TEST_F(KernelTest, ALaunchInAForkedChildIsAClearError) {
  ASSERT_EQ(launchKernel(nothing, dim3(1), dim3(1)), tangSuccess);
  tang::registerKernel(nothing, "nothing");
  const auto* address = reinterpret_cast<const void*>(&nothing);
  const auto isRefused = [](tangError_t error) {
    const std::string text = tangGetErrorString(error);
    return error == tangErrorIllegalState &&
           text.find("forked") != std::string::npos;
  };
  EXPECT_EQ(dipu::softdevice::runInChild([&] {
              CHILD_EXPECT(isRefused(launchKernel(nothing, dim3(1), dim3(1))));
              CHILD_EXPECT(isRefused(tangLaunchKernel(address, dim3(1), dim3(1),
                                                      nullptr, 0, 0, nullptr)));
            }),
            0);
}

TEST_F(KernelTest, WrongConfigurationsAreRefused) {
  for (const dim3 block : {dim3(0), dim3(1025), dim3(32, 33), dim3(1, 1, 2000),
                           dim3(1u << 31, 2, 1)}) {
    EXPECT_EQ(launchKernel(nothing, dim3(1), block),
              tangErrorInvalidConfiguration);
  }
  EXPECT_EQ(launchKernel(nothing, dim3(0), dim3(1)),
            tangErrorInvalidConfiguration);
  EXPECT_EQ(launchKernel(nothing, dim3(1, 65536), dim3(1)),
            tangErrorInvalidConfiguration);
  EXPECT_EQ(launchKernel(nothing, dim3(1), dim3(1), nullptr, (48 << 10) + 1),
            tangErrorInvalidConfiguration);
  EXPECT_EQ(launchKernel(rank, dim3(1), dim3(1)), tangErrorInvalidValue);
  EXPECT_EQ(tangGetLastError(), tangErrorInvalidValue);
  EXPECT_EQ(launchKernel(nothing, dim3(1), dim3(1)), tangSuccess);
}

}  // namespace
